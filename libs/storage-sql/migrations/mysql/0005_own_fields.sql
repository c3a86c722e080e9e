-- From here on objects have fields of which no posting block tells. Who does not know of them would not find these objects, so it is not served.
UPDATE head SET serves = 5 WHERE id = 1 AND serves < 5;
