package job

import (
	_ "plant.example/engine_imports_only_kernel" // want "engine imports the root package"
	_ "plant.example/engine_imports_only_kernel/engine/job/router"
	_ "plant.example/engine_imports_only_kernel/internal/live" // want "engine imports internal/live"
	_ "plant.example/engine_imports_only_kernel/kernel/a"
)
