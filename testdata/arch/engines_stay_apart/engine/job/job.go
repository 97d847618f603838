package job

import (
	_ "plant.example/engines_stay_apart/engine/plan" // want "engine job imports engine plan"
)
