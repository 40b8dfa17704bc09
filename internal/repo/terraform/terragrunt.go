package terraform

import (
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// Unit is a folder of Terragrunt: it applies a folder of Terraform with values of its variables.
type Unit struct {
	// Folder is the one of Terraform, in this repository.
	Folder string `json:"folder"`
	// Variables are the inputs, as a file of variables that is called as the configuration.
	Variables File `json:"variables"`
}

// configuration is the name of the file that makes a folder a unit. Source: Terragrunt, "Configuration".
const configuration = "terragrunt.hcl"

// IsTerragrunt reports whether a file may be one of Terragrunt, by its name.
func IsTerragrunt(file string) bool {
	base := path.Base(file)
	return path.Ext(base) == ".hcl" && !strings.HasPrefix(base, ".") && strings.Count(base, ".") == 1 && !strings.Contains(file, ".terragrunt-cache/")
}

// Units finds the units among the files of Terragrunt of a repository, sorted. What other units
// give (dependency) is not known. One whose module is no folder of the repository is none.
func Units(files []File) ([]Unit, error) {
	t := &terragrunt{bodies: map[string]*hclsyntax.Body{}, busy: map[string]bool{}, done: map[[2]string]configured{}}
	for _, f := range files {
		if body, err := parse(f); err == nil {
			t.bodies[f.Path] = body
		}
	}
	var all []Unit
	for _, f := range files {
		if path.Base(f.Path) != configuration || t.bodies[f.Path] == nil {
			continue
		}
		dir := path.Dir(f.Path)
		read := t.read(f.Path, dir)
		if folder, ok := moduleFolder(dir, read.source); ok {
			all = append(all, Unit{Folder: folder, Variables: File{Path: f.Path, Content: variables(read.inputs)}})
		}
	}
	slices.SortFunc(all, func(a, b Unit) int { return strings.Compare(a.Variables.Path, b.Variables.Path) })
	return all, nil
}

// moduleFolder is the folder of a module by its source, relative to dir; "/" is the top of the
// repository. A double slash says what of it is copied.
func moduleFolder(dir, source string) (string, bool) {
	switch {
	case source == "":
		return dir, true
	case strings.HasPrefix(source, "/"):
		source = strings.TrimPrefix(path.Clean(source), "/")
	case strings.HasPrefix(source, "."):
		source = path.Join(dir, source)
	default:
		return "", false
	}
	return path.Clean(source), !strings.HasPrefix(source, "..")
}

// variables writes values as a file of variables.
func variables(values map[string]cty.Value) []byte {
	file := hclwrite.NewEmptyFile()
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if v := values[name]; v.IsWhollyKnown() {
			file.Body().SetAttributeValue(name, v)
		}
	}
	return file.Bytes()
}

// terragrunt has the files of Terragrunt of a repository.
type terragrunt struct {
	bodies map[string]*hclsyntax.Body
	busy   map[string]bool // files that are being read
	// done are files that were read, by file and folder: one may be asked for many times.
	done map[[2]string]configured
}

// configured is what a file says, with what it includes.
type configured struct {
	source         string
	inputs, locals map[string]cty.Value
}

// read evaluates a file for a unit in a folder. What it includes comes first.
func (t *terragrunt) read(file, dir string) (out configured) {
	out = configured{inputs: map[string]cty.Value{}, locals: map[string]cty.Value{}}
	if read, ok := t.done[[2]string{file, dir}]; ok {
		return read
	}
	body := t.bodies[file]
	if body == nil || t.busy[file] {
		return out
	}
	t.busy[file] = true
	defer func() {
		delete(t.busy, file)
		t.done[[2]string{file, dir}] = out
	}()
	m, blocks := newModule([]*hclsyntax.Body{body}, nil)
	m.own = t.functions(dir)
	m.config = func(file string) cty.Value {
		read := t.read(inFolder(dir, file), dir)
		return cty.ObjectVal(map[string]cty.Value{"locals": cty.ObjectVal(read.locals), "inputs": cty.ObjectVal(read.inputs)})
	}
	for _, b := range blocks {
		if at := b.Body.Attributes["path"]; b.Type == "include" && at != nil {
			if included, ok := m.whole(at.Expr); ok {
				read := t.read(inFolder(dir, included), dir)
				for name, v := range read.inputs {
					out.inputs[name] = v
				}
				if read.source != "" {
					out.source = read.source
				}
			}
		}
	}
	for name := range m.locals {
		if v, ok := m.local(name); ok {
			out.locals[name] = v
		}
	}
	for _, b := range blocks {
		if at := b.Body.Attributes["source"]; b.Type == "terraform" && at != nil {
			// An address that is not known is no folder.
			out.source = "?"
			if source, ok := m.whole(at.Expr); ok {
				out.source = source
			}
		}
	}
	if at := body.Attributes["inputs"]; at != nil {
		if v, ok := m.value(at.Expr); ok && !v.IsNull() && v.IsKnown() && v.Type().IsObjectType() {
			for name, v := range v.AsValueMap() {
				if name != openKey {
					out.inputs[name] = v
				}
			}
		}
	}
	return out
}

// inFolder is a path of a unit in a folder, from the top of the repository.
func inFolder(dir, p string) string {
	if strings.HasPrefix(p, "/") {
		return strings.TrimPrefix(path.Clean(p), "/")
	}
	return path.Join(dir, p)
}

// whole is an expression as text, if all of it is known.
func (m *module) whole(e hclsyntax.Expression) (string, bool) {
	v, ok := m.value(e)
	s, is := asText(v)
	return s, ok && is && known(s) != ""
}

// functions are those of Terragrunt for a unit in a folder. Paths begin at the top of the
// repository, which is "/". Source: Terragrunt, "HCL Functions".
func (t *terragrunt) functions(dir string) map[string]function.Function {
	texts := func(f func(args []string) (string, bool)) function.Function {
		return function.New(&function.Spec{
			VarParam: &function.Parameter{Name: "args", Type: cty.String},
			Type:     function.StaticReturnType(cty.String),
			Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
				var given []string
				for _, a := range args {
					given = append(given, a.AsString())
				}
				if s, ok := f(given); ok {
					return cty.StringVal(s), nil
				}
				return cty.UnknownVal(cty.String), nil
			},
		})
	}
	one := func(f func(string) string) function.Function {
		return texts(func(args []string) (string, bool) { return f(strings.Join(args, "")), len(args) == 1 })
	}
	constant := func(s string) function.Function {
		return texts(func([]string) (string, bool) { return s, true })
	}
	return map[string]function.Function{
		"get_repo_root": constant("/"), "get_terragrunt_dir": constant("/" + dir), "get_original_terragrunt_dir": constant("/" + dir),
		"dirname": one(path.Dir), "basename": one(path.Base), "abspath": one(path.Clean),
		"get_env": texts(func(args []string) (string, bool) {
			if len(args) != 2 {
				return "", false
			}
			return args[1], true
		}),
		"find_in_parent_folders": texts(func(args []string) (string, bool) {
			args = append(args, configuration)
			if found := t.above(dir, args[0]); found != "" {
				return "/" + found, true
			}
			return args[1], len(args) == 3
		}),
		"get_parent_terragrunt_dir": texts(func([]string) (string, bool) {
			found := t.above(dir, configuration)
			return "/" + path.Dir(found), found != ""
		}),
		"path_relative_to_include": texts(func([]string) (string, bool) {
			found := t.above(dir, configuration)
			rel, below := strings.CutPrefix(dir, path.Dir(found)+"/")
			return rel, found != "" && below
		}),
	}
}

// above is the nearest file of a name in the folders above one; empty for none.
func (t *terragrunt) above(dir, name string) string {
	for dir != "." {
		dir = path.Dir(dir)
		if file := path.Join(dir, name); t.bodies[file] != nil {
			return file
		}
	}
	return ""
}
