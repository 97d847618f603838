package reprise_test

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"
)

// impure names what the allowed packages hold that pure code must not touch:
// clocks, randomness, the environment, input and output, and what starts a
// goroutine. Methods are written as types.Func.FullName writes them. iter.Pull
// is allowed: a coroutine runs in step with its caller, so nothing can race.
var impure = map[string]string{
	"time.Now": "clock", "time.Since": "clock", "time.Until": "clock", "time.Sleep": "clock",
	"time.After": "clock", "time.AfterFunc": "clock", "time.Tick": "clock", "time.NewTimer": "clock", "time.NewTicker": "clock",
	"time.Local": "environment", "(time.Time).Local": "environment", "time.LoadLocation": "environment",
	"crypto/ed25519.GenerateKey": "randomness",
	"(*math/big.Int).Rand":       "randomness",
	"fmt.Print":                  "output", "fmt.Printf": "output", "fmt.Println": "output",
	"fmt.Scan": "input", "fmt.Scanf": "input", "fmt.Scanln": "input",
	"io.Pipe":                 "lock",
	"(time.Duration).Seconds": "float arithmetic", "(time.Duration).Minutes": "float arithmetic", "(time.Duration).Hours": "float arithmetic",
	"print (built-in)": "output", "println (built-in)": "output",
}

// ofContext is all that pure code may use of package context: an interface
// that faces the shell has a context parameter, but nobody here makes one.
var ofContext = strings.Fields("Context Canceled DeadlineExceeded Cause")

// ofMath is all that pure code may call in package math. The first four are
// exact; the others look at a float and compute nothing.
var ofMath = strings.Fields(`Abs Floor Trunc RoundToEven
	Float32bits Float32frombits Float64bits Float64frombits IsInf IsNaN Signbit Inf NaN`)

// scoreFiles are the only places of float arithmetic.
var scoreFiles = strings.Fields("engine/job/score.go engine/assembly/score.go engine/extract/score.go")

// pointerVerb finds %p in a format.
var pointerVerb = regexp.MustCompile(`%[-+# 0]*(\[\d+\]|\d+|\*)*(\.(\[\d+\]|\d+|\*)*)?p`)

func (c *checker) purity() {
	for _, file := range c.pkg.Syntax {
		score := slices.Contains(scoreFiles, c.file(c.pkg.Fset.Position(file.Package).Filename))
		var above []ast.Node // from the file down to the parent of the node
		ast.Inspect(file, func(n ast.Node) bool {
			if n == nil {
				above = above[:len(above)-1]
				return true
			}
			c.statement(n)
			c.expression(n, above)
			c.float(n, above, score)
			above = append(above, n)
			return true
		})
	}
}

func (c *checker) statement(n ast.Node) {
	switch n := n.(type) {
	case *ast.GoStmt:
		c.report(n, "goroutine in pure code")
	case *ast.SelectStmt:
		c.report(n, "select in pure code")
	case *ast.SendStmt:
		c.report(n, "channel send in pure code")
	case *ast.ChanType:
		c.report(n, "channel type in pure code")
	case *ast.RangeStmt:
		if holds[*types.Map](c.pkg.TypesInfo.TypeOf(n.X)) {
			c.report(n, "map iteration in pure code: range over slices.Sorted(maps.Keys(m))")
		}
		if holds[*types.Chan](c.pkg.TypesInfo.TypeOf(n.X)) {
			c.report(n, "channel receive in pure code")
		}
	}
}

func (c *checker) expression(n ast.Node, above []ast.Node) {
	switch n := n.(type) {
	case *ast.UnaryExpr:
		if n.Op == token.ARROW {
			c.report(n, "channel receive in pure code")
		}
	case *ast.Ident:
		c.use(n, above)
	}
	if e, ok := n.(ast.Expr); ok {
		c.format(e, above)
	}
}

// format refuses %p wherever a constant string could be a format.
func (c *checker) format(e ast.Expr, above []ast.Node) {
	value := c.pkg.TypesInfo.Types[e].Value
	if value == nil || value.Kind() != constant.String {
		return
	}
	if outer, ok := above[len(above)-1].(ast.Expr); ok {
		if v := c.pkg.TypesInfo.Types[outer].Value; v != nil && v.Kind() == constant.String {
			return // a part of a longer constant, which is looked at whole
		}
	}
	if pointerVerb.MatchString(strings.ReplaceAll(constant.StringVal(value), "%%", "")) {
		c.report(e, "%%p in pure code prints an address")
	}
}

// use checks an identifier that refers to something outside the package.
func (c *checker) use(id *ast.Ident, above []ast.Node) {
	o := c.pkg.TypesInfo.Uses[id]
	if o == nil {
		return
	}
	name := o.Name() + " (built-in)"
	if o.Pkg() != nil {
		name = o.Pkg().Path() + "." + o.Name()
	}
	f, isFunc := o.(*types.Func)
	if isFunc {
		name = f.FullName()
	} else if _, isField := o.(*types.Var); isField && o.Pkg() != nil && o.Parent() != o.Pkg().Scope() {
		return // a field or a local variable
	}
	if what := impure[name]; what != "" {
		c.report(id, "%s in pure code: %s", what, name)
	}
	if o.Pkg() == nil || (isFunc && f.Signature().Recv() != nil) {
		return
	}
	switch o.Pkg().Path() {
	case "context":
		if !slices.Contains(ofContext, o.Name()) {
			c.report(id, "%s in pure code: a context comes from the shell", name)
		}
	case "math":
		if isFunc && !slices.Contains(ofMath, o.Name()) {
			c.report(id, "%s in pure code: not an exact function", name)
		}
	case "maps":
		if isFunc && slices.Contains([]string{"Keys", "Values", "All"}, o.Name()) && !sorted(c.pkg.TypesInfo, above) {
			c.report(id, "%s in pure code without slices.Sorted around it", name)
		}
	case "time":
		if isFunc && slices.Contains([]string{"Unix", "UnixMilli", "UnixMicro"}, o.Name()) && !thenUTC(above) {
			c.report(id, "environment in pure code: %s is in the local zone; write %s(…).UTC()", name, name)
		}
	}
}

// sorted reports whether the call of the maps function whose name the stack
// leads to is an argument of slices.Sorted or its likes.
func sorted(info *types.Info, above []ast.Node) bool {
	calls := 0
	for _, n := range slices.Backward(above) {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			if _, isExpr := n.(ast.Expr); !isExpr {
				return false
			}
			continue
		}
		if calls++; calls == 1 {
			continue // the call of maps.Keys itself
		}
		fun := ast.Unparen(call.Fun)
		if x, ok := fun.(*ast.IndexExpr); ok {
			fun = x.X
		}
		sel, ok := fun.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		f, ok := info.Uses[sel.Sel].(*types.Func)
		return ok && slices.Contains([]string{"slices.Sorted", "slices.SortedFunc", "slices.SortedStableFunc"}, f.FullName())
	}
	return false
}

// thenUTC reports whether the stack reads time.Unix(…).UTC.
func thenUTC(above []ast.Node) bool {
	if len(above) < 3 {
		return false
	}
	_, isCall := above[len(above)-2].(*ast.CallExpr)
	outer, isSelector := above[len(above)-3].(*ast.SelectorExpr)
	return isCall && isSelector && outer.Sel.Name == "UTC"
}

// float allows float arithmetic in score files only, and there no product
// that a compiler could fuse with a sum.
func (c *checker) float(n ast.Node, above []ast.Node, score bool) {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		arithmetic := n.Op == token.ADD || n.Op == token.SUB || n.Op == token.MUL || n.Op == token.QUO
		if !arithmetic || !isFloat(c.pkg.TypesInfo.TypeOf(n)) || c.pkg.TypesInfo.Types[n].Value != nil {
			return
		}
		switch {
		case !score:
			c.report(n, "float arithmetic in pure code outside score.go")
		case n.Op == token.MUL && !c.converted(n, above):
			c.report(n, "float product that may be fused: write float64(a*b)")
		}
	case *ast.AssignStmt:
		arithmetic := n.Tok == token.ADD_ASSIGN || n.Tok == token.SUB_ASSIGN || n.Tok == token.MUL_ASSIGN || n.Tok == token.QUO_ASSIGN
		if !arithmetic || !isFloat(c.pkg.TypesInfo.TypeOf(n.Lhs[0])) {
			return
		}
		switch {
		case !score:
			c.report(n, "float arithmetic in pure code outside score.go")
		case n.Tok == token.MUL_ASSIGN:
			c.report(n, "float product that may be fused: write x = float64(x*y)")
		}
	case *ast.IncDecStmt:
		if isFloat(c.pkg.TypesInfo.TypeOf(n.X)) && !score {
			c.report(n, "float arithmetic in pure code outside score.go")
		}
	}
}

// converted reports whether the product stands directly in float64(…).
func (c *checker) converted(n ast.Expr, above []ast.Node) bool {
	for _, outer := range slices.Backward(above) {
		switch outer := outer.(type) {
		case *ast.ParenExpr:
			continue
		case *ast.CallExpr:
			t := c.pkg.TypesInfo.Types[outer.Fun]
			return t.IsType() && types.Identical(t.Type, types.Typ[types.Float64]) && len(outer.Args) == 1 && ast.Unparen(outer.Args[0]) == n
		default:
			return false
		}
	}
	return false
}

func isFloat(t types.Type) bool {
	return some(t, func(t types.Type) bool {
		b, ok := t.Underlying().(*types.Basic)
		return ok && b.Info()&(types.IsFloat|types.IsComplex) != 0
	})
}

// holds reports whether t, or a type that the type parameter t admits, is a T
// underneath.
func holds[T types.Type](t types.Type) bool {
	return some(t, func(t types.Type) bool {
		_, ok := t.Underlying().(T)
		return ok
	})
}

// some reports whether is holds for t or, when t is a type parameter, for one
// of the types that its constraint admits.
func some(t types.Type, is func(types.Type) bool) bool {
	if t == nil {
		return false
	}
	p, ok := types.Unalias(t).(*types.TypeParam)
	if !ok {
		return is(t)
	}
	constraint, ok := p.Constraint().Underlying().(*types.Interface)
	return ok && admits(constraint, is)
}

func admits(constraint *types.Interface, is func(types.Type) bool) bool {
	for embedded := range constraint.EmbeddedTypes() {
		switch e := embedded.(type) {
		case *types.Union:
			for term := range e.Terms() {
				if inner, ok := term.Type().Underlying().(*types.Interface); ok {
					if admits(inner, is) {
						return true
					}
				} else if is(term.Type()) {
					return true
				}
			}
		default:
			if inner, ok := e.Underlying().(*types.Interface); ok {
				if admits(inner, is) {
					return true
				}
			} else if is(e) {
				return true
			}
		}
	}
	return false
}
