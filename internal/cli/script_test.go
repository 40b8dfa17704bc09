package cli

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/rollout-ladder/ladder/internal/cli/stream"
	_ "github.com/rollout-ladder/ladder/internal/worker" // as in the command
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestMain is the command where the binary is called by that name.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "ladder" {
		os.Exit(Main("ladder", os.Args[1:], "test", stream.System()))
	}
	os.Exit(m.Run())
}

// TestScripts runs the command as users do; every file in testdata/script is a
// scenario. There "ladder" is a call, "exec ladder" a process of its own: to start
// one, and its workers, takes longer than what most commands do.
func TestScripts(t *testing.T) {
	dir, err := filepath.Abs(filepath.Join("testdata", "script")) // calls change the working directory
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(self, filepath.Join(bin, "ladder")); err != nil {
		t.Fatal(err)
	}
	verbs := online()
	verbs["ladder"] = func(ts *testscript.TestScript, neg bool, args []string) {
		if code := call(ts, dir, args); (code == 0) == neg {
			ts.Fatalf("exit code %d", code)
		}
	}
	verbs["code"] = func(ts *testscript.TestScript, neg bool, args []string) { exitCode(ts, dir, neg, args) }
	// A scenario that starts while another one has its PATH set must not begin with that.
	path := bin + string(os.PathListSeparator) + os.Getenv("PATH")
	testscript.Run(t, testscript.Params{
		Dir:                dir,
		UpdateScripts:      *update,
		RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("XDG_CACHE_HOME", filepath.Join(env.WorkDir, ".cache"))
			env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, ".state"))
			env.Setenv("PATH", path)
			env.Values[variables{}] = env.Vars
			env.Values[sites{}] = map[string]*site{}
			return nil
		},
		Cmds: verbs,
	})
}

// exitCode runs a command and compares its exit code: code 2 ladder plan .
func exitCode(ts *testscript.TestScript, dir string, neg bool, args []string) {
	if neg || len(args) < 2 || args[1] != "ladder" {
		ts.Fatalf("usage: code N ladder [args...]")
	}
	if got := strconv.Itoa(call(ts, dir, args[2:])); got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
}

// variables is the key of the variables that a script begins with.
type variables struct{}

// calling is held by the call that has the working directory and the environment of
// the process.
var calling sync.Mutex

// set finds what a script sets.
var set = regexp.MustCompile(`(?m)^env (.*)$`)

// call runs the command within this process, in the folder and with the variables of
// the script, and no others. It returns the exit code.
func call(ts *testscript.TestScript, dir string, args []string) int {
	script, err := os.ReadFile(filepath.Join(dir, ts.Name()+".txtar"))
	ts.Check(err)
	pairs := ts.Value(variables{}).([]string)
	for _, line := range set.FindAllStringSubmatch(string(script), -1) {
		pairs = append(pairs[:len(pairs):len(pairs)], strings.Fields(line[1])...)
	}

	var now []string
	for _, pair := range pairs {
		name, _, _ := strings.Cut(pair, "=")
		if value := ts.Getenv(name); value != "" {
			now = append(now, name+"="+value)
		}
	}

	calling.Lock()
	defer calling.Unlock()
	here, err := os.Getwd()
	ts.Check(err)
	before := os.Environ()
	defer func() {
		ts.Check(os.Chdir(here))
		setenv(ts, before)
	}()
	ts.Check(os.Chdir(ts.MkAbs(".")))
	setenv(ts, now)
	return Main("ladder", args, "test", &stream.Streams{In: strings.NewReader(""), Out: ts.Stdout(), Err: ts.Stderr(), Getenv: ts.Getenv})
}

// setenv gives the process these variables and no others.
func setenv(ts *testscript.TestScript, pairs []string) {
	os.Clearenv()
	for _, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		ts.Check(os.Setenv(name, value))
	}
}
