-- How many bytes of versions were superseded after the milestone before and up to this one; less than 0: nobody has counted yet.
ALTER TABLE milestone ADD COLUMN bytes BIGINT NOT NULL DEFAULT -1;
