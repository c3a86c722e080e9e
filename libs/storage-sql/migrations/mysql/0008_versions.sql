-- The other versions of a resource. A stream that is opened while its cluster shows one of them has `is_open` 3: it is hidden until it is live.
ALTER TABLE type ADD KEY type_resource (api_group, resource);
