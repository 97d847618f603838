package importer

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/reprise-dev/reprise/kernel/fault"
)

// fuzzRead holds for any file: it is refused with a code of class invalid, or
// read, and then every exchange is one that a proxy could have seen; to read
// it again gives the same.
func fuzzRead(f *testing.F, ext string) {
	names, err := filepath.Glob(filepath.Join("testdata", "*"+ext))
	if err != nil || len(names) == 0 {
		f.Fatalf("%d seeds, %v", len(names), err)
	}
	for _, n := range names {
		b, err := os.ReadFile(n)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	o := Options{MaxBytes: 1 << 20}.withDefaults()
	f.Fuzz(func(t *testing.T, b []byte) {
		one, plan, err := readAndPlan(b, &o)
		if err != nil {
			if fault.ClassOf(err) != fault.ClassInvalid {
				t.Fatalf("read = %v, want a refusal of class invalid", err)
			}
			return
		}
		for i, p := range plan {
			if p.URL.Host == "" || !isToken(p.Method) || p.Status < 200 || p.Status > 599 || p.upstream == "" || (p.Evidence != nil) != (p.Why != "") {
				t.Errorf("exchange %d = %s %s %d", i, p.Method, p.URL, p.Status)
			}
		}
		two, again, err := readAndPlan(b, &o)
		if err != nil || !reflect.DeepEqual(plan, again) || !reflect.DeepEqual(one, two) {
			t.Errorf("read once = %+v, twice = %+v, %v", one, two, err)
		}
	})
}

func readAndPlan(b []byte, o *Options) (Result, []planned, error) {
	var res Result
	t, err := read(b, o)
	if err != nil {
		return res, nil, err
	}
	plan, err := res.plan(&t, o)
	return res, plan, err
}

func FuzzCassette(f *testing.F) { fuzzRead(f, ".yaml") }

func FuzzTrace(f *testing.F) { fuzzRead(f, ".httprr") }
