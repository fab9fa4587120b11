-- A store as the first version of its format has it, with two runs of each algorithm.
PRAGMA application_id = 229562901;
PRAGMA user_version = 1;
BEGIN TRANSACTION;
CREATE TABLE cells (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, problem TEXT NOT NULL, algorithm TEXT NOT NULL,
    popsize INTEGER NOT NULL, settings TEXT NOT NULL, content TEXT NOT NULL
);
INSERT INTO "cells" VALUES(1,'236976df6cb39769697a12718c6ca41ecac2c6a644a6576c1f0b07ca5dbab80f','onemax:n=6','umda',20,'{"selection": "tournament", "replacement": "parents"}','{"by_row": false, "limits": {"max_evaluations": null, "max_generations": 2, "patience": 20}, "minimize": false, "model": "UMDA", "n": null, "popsize": 20, "problem": "onemax:n=6", "settings": {"replacement": "parents", "selection": "tournament"}, "shuffle": true, "target": null}');
INSERT INTO "cells" VALUES(2,'76a7c6d9e6a7639d975ac88505ad630cbf73209f007b932838a5337f199dc165','onemax:n=6','pbil',20,'{"learning_rate": 0.01, "best": 1, "selection": "tournament", "replacement": "parents"}','{"by_row": false, "limits": {"max_evaluations": null, "max_generations": 2, "patience": 400}, "minimize": false, "model": "PBIL", "n": null, "popsize": 20, "problem": "onemax:n=6", "settings": {"best": 1, "learning_rate": 0.01, "replacement": "parents", "selection": "tournament"}, "shuffle": true, "target": null}');
CREATE TABLE environments (
    id INTEGER PRIMARY KEY, daedal TEXT NOT NULL, numpy TEXT NOT NULL, numba TEXT NOT NULL, python TEXT NOT NULL,
    cpu TEXT NOT NULL, UNIQUE (daedal, numpy, numba, python, cpu)
);
INSERT INTO "environments" VALUES(1,'0.1.0','2.4.6','0.68.1','3.11.7','a processor');
CREATE TABLE histories (run INTEGER PRIMARY KEY REFERENCES runs ON DELETE CASCADE, history BLOB NOT NULL);
INSERT INTO "histories" VALUES(1,X'789CAB564A2D4BCC294D2CC9CCCF2B56B28A363288D5514A4A2D2E01B2CDF4409CDCD4C43C20C758CF10C8492E288D2F4E4DCECF4B012936D0333030B03037303332B584000B53D3D85A00638F18C8');
INSERT INTO "histories" VALUES(2,X'789CAB564A2D4BCC294D2CC9CCCF2B56B28A363288D5514A4A2D2E01B2CDF4409CDCD4C43C20C758CFD014C84B2E288D2F4E4DCECF4B01A936D03330303035343331B53480000B03A3D85A00775718B8');
INSERT INTO "histories" VALUES(3,X'789CAB564A2D4BCC294D2CC9CCCF2B56B28A363288D5514A4A2D2E01B2CDF4409CDCD4C43C20C758CFD014C84B2E288D2F4E4DCECF4B01A936D03330303035B23433B2B084007353CBD85A0079DA1904');
INSERT INTO "histories" VALUES(4,X'789CAB564A2D4BCC294D2CC9CCCF2B56B28A363288D5514A4A2D2E01B2CDF4409CDCD4C43C20C758CF10C8492E288D2F4E4DCECF4B012936D03330303037B3343635B184007343B3D85A0063DA18CA');
CREATE TABLE runs (
    id INTEGER PRIMARY KEY, cell INTEGER NOT NULL REFERENCES cells, seed INTEGER NOT NULL, status TEXT NOT NULL,
    success INTEGER, best REAL, optimum REAL, evaluations_to_best INTEGER, evaluations INTEGER,
    unique_evaluations INTEGER, generations INTEGER, cpu_seconds_to_best REAL, cpu_seconds REAL, stop TEXT, error TEXT,
    x TEXT, environment INTEGER NOT NULL REFERENCES environments, finished TEXT NOT NULL, UNIQUE (cell, seed)
);
INSERT INTO "runs" VALUES(1,1,0,'done',1,6.0,6.0,20,20,19,0,8.70625e-04,9.31105e-04,'target',NULL,'111111',1,'2026-01-02T03:04:05+00:00');
INSERT INTO "runs" VALUES(2,1,1,'done',1,6.0,6.0,20,20,18,0,5.16459e-04,5.91119e-04,'target',NULL,'111111',1,'2026-01-02T03:04:05+00:00');
INSERT INTO "runs" VALUES(3,2,1,'done',1,6.0,6.0,20,20,18,0,5.29628e-04,6.01926e-04,'target',NULL,'111111',1,'2026-01-02T03:04:05+00:00');
INSERT INTO "runs" VALUES(4,2,0,'done',1,6.0,6.0,20,20,19,0,7.69354e-04,8.08483e-04,'target',NULL,'111111',1,'2026-01-02T03:04:05+00:00');
CREATE TABLE studies (
    id INTEGER PRIMARY KEY, spec TEXT NOT NULL UNIQUE, used INTEGER NOT NULL, confirm INTEGER NOT NULL,
    full_grid INTEGER NOT NULL
);
INSERT INTO "studies" VALUES(1,'{"algorithms": [{"algorithm": "umda", "name": "umda", "popsizes": [20], "settings": {}}, {"algorithm": "pbil", "name": "slow", "popsizes": [20], "settings": {"learning_rate": 0.01}}], "limits": {"max_generations": 2}, "problems": [{"by_row": false, "identity": "onemax:n=6", "minimize": false, "name": "onemax:n=6", "problem": "onemax:n=6"}], "runs": 2, "seed": 0, "shuffle": true}',1,0,0);
CREATE VIEW results AS
    SELECT problem, algorithm, popsize, seed, status, success, best, optimum, evaluations_to_best, evaluations,
        unique_evaluations, generations, cpu_seconds_to_best, cpu_seconds, stop, error, x, settings, content,
        daedal, numpy, numba, python, cpu, finished, runs.id AS run
    FROM runs JOIN cells ON cells.id = cell JOIN environments ON environments.id = environment;
COMMIT;
