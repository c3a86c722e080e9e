//! The allocator: jemalloc, for the code in C as well, told to keep its memory together and to give it back.
//!
//! How it is told is in `.cargo/config.toml`, since it reads it before `main`: one heap with small caches for each thread instead of four
//! for each core, and what is free for a tenth of a second is the system's again, by a thread of its own. `$MALLOC_CONF` overrides it.

use tikv_jemallocator::Jemalloc;

#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

#[cfg(test)]
mod tests {
    use tikv_jemalloc_ctl::{arenas, background_thread, config, opt};

    #[test]
    fn the_allocator_is_told_to_keep_its_memory_together_and_to_give_it_back() {
        let told = config::malloc_conf::read().expect("jemalloc");
        assert!(told.contains("dirty_decay_ms:100"), "{told}");
        assert_eq!(opt::narenas::read(), Ok(1));
        assert_eq!(opt::tcache_max::read(), Ok(8192));
        assert_eq!(background_thread::read(), Ok(true));
        // One for allocations that a program asks for by name, which nobody does.
        let heaps = arenas::narenas::read().expect("jemalloc");
        assert!(heaps <= 2, "{heaps}");
    }
}
