package cli

import (
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/rollout-ladder/ladder/internal/cli/stream"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"ladder": func() { os.Exit(Main("ladder", os.Args[1:], "test", stream.System())) },
	})
}

// TestScripts runs the command as users do; every file in testdata/script is a
// scenario.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("XDG_CACHE_HOME", filepath.Join(env.WorkDir, ".cache"))
			env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, ".state"))
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"code": exitCode,
		},
	})
}

// exitCode runs a command and compares its exit code: code 2 ladder plan .
func exitCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N command [args...]")
	}
	want := args[0]
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if err != nil {
		got = "-1"
		if exit, ok := err.(interface{ ExitCode() int }); ok {
			got = strconv.Itoa(exit.ExitCode())
		}
	}
	if got != want {
		ts.Fatalf("exit code %s, want %s: %v", got, want, err)
	}
}
