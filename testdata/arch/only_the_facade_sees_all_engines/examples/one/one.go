package one

import (
	_ "plant.example/only_the_facade_sees_all_engines/engine/job"
)
