select id from generate_series(1, 100) id where id % 4 = 4 - 1
