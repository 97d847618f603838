package openthymos_test

import (
	"fmt"
	"os"

	"github.com/reprise-dev/reprise/engine/trajectory/openthymos"
)

// A copy of a ledger in which the last commit was cut off: OpenThymos sees
// nothing, and so does everybody who does not know where it ended.
func Example() {
	b, err := os.ReadFile("testdata/ledger_valid.json")
	if err != nil {
		panic(err)
	}
	file, err := openthymos.Read(b)
	if err != nil {
		panic(err)
	}
	head := openthymos.Head{Count: 8}
	if err := head.ID.UnmarshalText([]byte("377673d06e562af388fa4f1ab1c689265bf3b00d5065cac8a5632215f0bff622")); err != nil {
		panic(err)
	}
	file.Entries = file.Entries[:7]
	report, err := openthymos.Verify(file.All(), &openthymos.Options{Head: &head})
	if err != nil {
		panic(err)
	}
	fmt.Println("compat:", report.Compat.Accepted)
	for _, f := range report.Strict.Findings {
		fmt.Println("strict:", f.Code, "found", f.Found)
	}
	// Output:
	// compat: true
	// strict: openthymos.expected_head found 7 entries
}
