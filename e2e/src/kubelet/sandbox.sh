# What a container sees: libraries, certificates, its program as the image has it, its volumes, and nothing else of this machine.
#   ROOT PROGRAM USER:GROUP GROUPS IS_READ_ONLY [SOURCE TARGET rw|ro]... -- ARGUMENT...
root=$1 program=$2 user=$3 groups=$4 readonly=$5
shift 5
mount -t tmpfs -o mode=0755 pod "$root"
for place in /lib /lib64 /usr/lib /usr/lib64 /etc/ssl /usr/share/ca-certificates /proc /dev/null /dev/urandom; do
    if [ -L "$place" ]; then
        mkdir -p "$root${place%/*}"
        cp -P "$place" "$root$place"
    elif [ -d "$place" ]; then
        mkdir -p "$root$place"
        mount --rbind "$place" "$root$place"
    elif [ -e "$place" ]; then
        mkdir -p "$root${place%/*}"
        : > "$root$place"
        mount --bind "$place" "$root$place"
    fi
done
mkdir -p "$root/usr/local/bin"
: > "$root/usr/local/bin/program"
mount --bind "$program" "$root/usr/local/bin/program"
while [ "$1" != -- ]; do
    mkdir -p "$root$2"
    mount --bind -o "$3" "$1" "$root$2"
    shift 3
done
shift
[ "$readonly" != true ] || mount -o remount,ro "$root"
exec setpriv --no-new-privs chroot --userspec="$user" --groups="$groups" "$root" /usr/local/bin/program "$@"
