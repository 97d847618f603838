package drive

import (
	_ "plant.example/only_the_facade_sees_all_engines/engine/job"
	_ "plant.example/only_the_facade_sees_all_engines/engine/plan" // want "imports engines job and plan: only the façade"
)
