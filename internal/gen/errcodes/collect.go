package main

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/reprise-dev/reprise/kernel/fault"
)

const faultPath = "github.com/reprise-dev/reprise/kernel/fault"

// code is one declared error code.
type code struct {
	Text  string // as it is printed and recorded
	Class fault.Class
	Const string // the constant, as package.Name
	Doc   string // its comment on one line
}

// collect returns the codes that the packages below root declare, sorted by
// their text. Constants of tests are not codes.
func collect(root string) ([]code, error) {
	pkgs, err := packages.Load(&packages.Config{
		Dir: root,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedSyntax |
			packages.NeedTypes | packages.NeedTypesInfo,
	}, "./...")
	if err != nil {
		return nil, err
	}
	var codes []code
	var faults []error
	for _, p := range pkgs {
		for _, e := range p.Errors {
			faults = append(faults, e)
		}
		for _, file := range p.Syntax {
			for _, decl := range file.Decls {
				if g, ok := decl.(*ast.GenDecl); ok && g.Tok == token.CONST {
					found, err := declared(p, g)
					codes, faults = append(codes, found...), append(faults, err)
				}
			}
		}
	}
	slices.SortFunc(codes, func(a, b code) int { return cmp.Or(cmp.Compare(a.Text, b.Text), cmp.Compare(a.Const, b.Const)) })
	for i := 1; i < len(codes); i++ {
		if codes[i].Text == codes[i-1].Text {
			faults = append(faults, fmt.Errorf("%s and %s are both %q: a code has one home", codes[i-1].Const, codes[i].Const, codes[i].Text))
		}
	}
	if len(codes) == 0 {
		faults = append(faults, errors.New("no code was found: nothing is known"))
	}
	return codes, errors.Join(faults...)
}

// declared returns the codes of one const declaration.
func declared(p *packages.Package, g *ast.GenDecl) ([]code, error) {
	var codes []code
	var faults []error
	for _, spec := range g.Specs {
		v, ok := spec.(*ast.ValueSpec)
		if !ok {
			continue
		}
		doc := v.Doc
		if doc == nil && len(g.Specs) == 1 {
			doc = g.Doc
		}
		if doc == nil {
			doc = v.Comment
		}
		for _, name := range v.Names {
			c, ok := p.TypesInfo.Defs[name].(*types.Const)
			if !ok || c.Val().Kind() != constant.String {
				continue
			}
			class, ok := classOf(c.Type())
			if !ok {
				continue
			}
			found := code{
				Text: constant.StringVal(c.Val()), Class: class,
				Const: path.Base(p.PkgPath) + "." + name.Name, Doc: strings.Join(strings.Fields(doc.Text()), " "),
			}
			switch {
			case found.Doc == "":
				faults = append(faults, fmt.Errorf("%s: %s has no comment: say what it means and what the caller should do", p.Fset.Position(name.Pos()), found.Const))
			case strings.ContainsAny(found.Text, " \t\n|") || found.Text == "":
				faults = append(faults, fmt.Errorf("%s: %s is %q: a code is one word", p.Fset.Position(name.Pos()), found.Const, found.Text))
			}
			codes = append(codes, found)
		}
	}
	return codes, errors.Join(faults...)
}

// classOf returns the class of a constant's type when that is one of the code
// types of package fault.
func classOf(t types.Type) (fault.Class, bool) {
	named, ok := types.Unalias(t).(*types.Named)
	if !ok || named.Obj().Pkg() == nil || named.Obj().Pkg().Path() != faultPath {
		return fault.ClassNone, false
	}
	for _, class := range fault.Classes() {
		// The type is named as its class is, without the underscore: not_found, NotFound.
		if strings.EqualFold(named.Obj().Name(), strings.ReplaceAll(class.String(), "_", "")) {
			return class, true
		}
	}
	return fault.ClassNone, false
}
