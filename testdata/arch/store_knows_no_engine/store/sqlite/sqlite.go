package sqlite

import (
	_ "plant.example/store_knows_no_engine/engine/plan" // want "a store knows no engine"
	_ "plant.example/store_knows_no_engine/kernel/a"
)
