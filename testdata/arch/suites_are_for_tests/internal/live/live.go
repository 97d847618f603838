package live

import (
	_ "plant.example/suites_are_for_tests/kernel/ledger/ledgertest" // want "imports the suite"
)
