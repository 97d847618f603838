package store

import (
	_ "os"
	_ "outside.example"
)
