package fastest

import (
	_ "os"                                                          // want "import of os, which is not on the list"
	_ "plant.example/suites_are_for_tests/kernel/ledger/ledgertest" // want "imports the suite kernel/ledger/ledgertest outside of a test"
)
