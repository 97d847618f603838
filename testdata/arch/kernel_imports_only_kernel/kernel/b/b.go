package b

import (
	_ "plant.example/kernel_imports_only_kernel"            // want "kernel imports the root package"
	_ "plant.example/kernel_imports_only_kernel/engine/job" // want "kernel imports engine/job"
	_ "plant.example/kernel_imports_only_kernel/kernel/a"
	_ "plant.example/kernel_imports_only_kernel/store" // want "kernel imports store"
)
