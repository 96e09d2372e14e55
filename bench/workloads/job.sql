-- SPDX-License-Identifier: Apache-2.0
-- A shop in memory: 25,000 orders put in, indexed, joined with their customers, changed, deleted.
PRAGMA journal_mode = OFF;
CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT, town TEXT);
CREATE TABLE purchase (id INTEGER PRIMARY KEY, customer INT, item TEXT, price REAL, day INT);
INSERT INTO customer
	WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
	SELECT i, 'customer ' || (i * 37 % 2003), 'town ' || (i % 53) FROM n;
BEGIN;
INSERT INTO purchase
	WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 25000)
	SELECT i, i * 7 % 2000 + 1, 'item ' || (i * 13 % 701), i % 997 * 0.25, i * 11 % 365 FROM n;
COMMIT;
CREATE INDEX purchase_customer ON purchase (customer);
CREATE INDEX purchase_day ON purchase (day, item);
SELECT count(*), sum(price) FROM purchase WHERE day BETWEEN 100 AND 200;
SELECT town, count(*), round(avg(price), 3) FROM customer JOIN purchase ON customer = customer.id
	GROUP BY town ORDER BY 2 DESC, 1 LIMIT 5;
SELECT count(*) FROM purchase a JOIN purchase b ON b.customer = a.customer AND b.day > a.day
	WHERE a.id < 6000;
UPDATE purchase SET price = price * 1.19 WHERE item LIKE 'item 1%';
DELETE FROM purchase WHERE customer IN (SELECT id FROM customer WHERE town = 'town 7');
SELECT item, max(price) FROM purchase GROUP BY item HAVING count(*) > 30 ORDER BY 2 DESC, 1 LIMIT 3;
SELECT name, (SELECT count(*) FROM purchase WHERE customer = c.id) AS bought FROM customer c
	ORDER BY bought DESC, name LIMIT 3;
