-- Who has a type, and the news of streams without their rows.
ALTER TABLE stream ADD KEY stream_type (type, is_open);

ALTER TABLE stream ADD KEY stream_news (seq, is_open);

ALTER TABLE stream DROP KEY stream_seq;
