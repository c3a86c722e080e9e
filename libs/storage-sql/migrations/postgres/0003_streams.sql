-- Who has a type, and the news of streams without their rows.
CREATE INDEX stream_type ON stream (type, is_open DESC, cluster);
CREATE INDEX stream_news ON stream (seq, is_open, cluster, type);
DROP INDEX stream_seq;
