package byhand

import (
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
)

var (
	// builds is a command that prints what a kustomization makes, with its arguments.
	builds = lazyregexp.New(`\b(?:kustomize\s+build|(?:kubectl|oc)\s+kustomize)\s+(.+)`)
	// prints is a command that prints a file, or decrypts it.
	prints = lazyregexp.New(`(?:^|\s)(?:sops\s+(?:-d|--decrypt|decrypt)|cat|envsubst\s*<)\s+(.+)`)
	// hands is a command that applies what another one prints.
	hands = lazyregexp.New("\\s(?:-f\\s*|--filename[\\s=]\\s*)-(?:[\\s\"'`]|$)")
)

// argument is a file or folder that a command is given.
type argument struct {
	written              string
	kustomize, recursive bool
	// charts is set where the charts of kustomizations are inflated.
	charts bool
	// names are the patterns of the files of a folder, each with a blank behind it; empty
	// for all manifests.
	names string
	// folder is where the command runs, as a command of the file before it said; empty where
	// none did.
	folder string
}

// built are the folders that a command which prints what a kustomization makes may mean, or the files
// of one that prints files: its arguments that are no flags. The value of a flag is no folder with a
// kustomization.
func built(part string) []argument {
	m, kustomize := builds.FindStringSubmatch(part), true
	if m == nil {
		m, kustomize = prints.FindStringSubmatch(part), false
	}
	if m == nil {
		return nil
	}
	var all []argument
	words := strings.Fields(unquoted.Replace(m[1]))
	charts := slices.Contains(words, "--enable-helm") || slices.Contains(words, "--enable-helm=true")
	for _, word := range words {
		if !strings.HasPrefix(word, "-") {
			all = append(all, argument{written: word, kustomize: kustomize, charts: charts})
		}
	}
	return all
}

// escaped takes away what find is given for itself.
var escaped = strings.NewReplacer(`\(`, " ", `\)`, " ", `\;`, " ")

// unquoted takes the quotes of words away.
var unquoted = strings.NewReplacer(`"`, "", `'`, "", "`", "")

// separators stand between the commands of a line.
var separators = strings.NewReplacer("|", "\n", ";", "\n", "&", "\n", "$(", "\n", "(", "\n", ")", "\n")

// parts are the commands of a line.
func parts(line string) []string {
	return strings.Split(separators.Replace(line), "\n")
}

// shell is what the commands of a file leave to the next ones.
type shell struct {
	// folder is where they run: what is written behind cd.
	folder string
}

// moves is a command that goes to a folder, or the beginning of a step of a workflow, which
// is run where the repository is.
var moves = lazyregexp.New(`^(?:-\s+)?(?:(?:run:\s*)?(cd|pushd)(?:\s+(\S+))?|(?:run|name|uses):.*|popd)\s*$`)

// move follows a command that goes to a folder.
func (s *shell) move(part string) {
	m := moves.FindStringSubmatch(unquoted.Replace(strings.TrimSpace(part)))
	switch {
	case m == nil:
	case m[2] == "" || strings.HasPrefix(m[2], "-") || strings.HasPrefix(path.Clean(m[2]), ".."):
		s.folder = ""
	default:
		s.folder = m[2]
	}
}

// given are the files and folders that the commands of a line apply. Source: kubectl
// apply --help; its lists may be written with commas.
func (s *shell) given(line string) []argument {
	var all []argument
	var printed, found []argument
	for _, part := range parts(escaped.Replace(line)) {
		s.move(part)
		if folders := built(part); len(folders) > 0 {
			printed = folders
		}
		if files := looked(part); files != nil {
			found = files
		}
		if !applies.MatchString(part+" ") || strings.Contains(part, "--dry-run") {
			continue
		}
		if hands.MatchString(part) {
			all = append(all, printed...)
		}
		first := len(all)
		all = append(all, filesOf(part, found)...)
		for i := range all[first:] {
			all[first+i].folder = s.folder
		}
	}
	return all
}

// filesOf are the arguments of a command that applies: found are the files that one before it
// in the line finds.
func filesOf(part string, found []argument) []argument {
	var all []argument
	recursive := false
	words := strings.Fields(strings.ReplaceAll(unquoted.Replace(part), "=", " = "))
	for i := 0; i < len(words); i++ {
		name := words[i]
		switch name {
		case "-R", "--recursive":
			recursive = true
			continue
		case "-f", "-Rf", "--filename", "-k", "--kustomize":
		default:
			continue
		}
		recursive = recursive || name == "-Rf"
		if i++; i < len(words) && words[i] == "=" {
			i++
		}
		if i >= len(words) || words[i] == "{}" {
			all = append(all, found...) // xargs, or find, adds them
			continue
		}
		for written := range strings.SplitSeq(words[i], ",") {
			all = append(all, argument{written: written, kustomize: name == "-k" || name == "--kustomize"})
		}
	}
	for i := range all {
		all[i].recursive = all[i].recursive || recursive
	}
	return all
}

// looked is what a command of find finds: manifests below a folder, by the patterns of their
// names. It is nil for other commands, and for one that chooses otherwise.
func looked(part string) []argument {
	words := strings.Fields(unquoted.Replace(part))
	i := slices.Index(words, "find")
	if i < 0 || i+1 >= len(words) || strings.HasPrefix(words[i+1], "-") {
		return nil
	}
	a := argument{written: words[i+1], recursive: true}
	for rest := words[i+2:]; len(rest) > 0; rest = rest[1:] {
		switch word := rest[0]; {
		case word == "-exec", word == "-print", word == "-print0":
			return []argument{a}
		case word == "-o", word == "-or", word == "+", word == `\`:
		case len(rest) < 2:
			return nil
		case word == "-name", word == "-iname":
			a.names += rest[1] + " "
			rest = rest[1:]
		case word == "-type" && rest[1] == "f":
			rest = rest[1:]
		case word == "-maxdepth" && rest[1] == "1":
			a.recursive = false
			rest = rest[1:]
		default:
			return nil
		}
	}
	return []argument{a}
}
