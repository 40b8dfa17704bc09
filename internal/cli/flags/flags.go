// Package flags holds the flags that several commands share, parsed into
// structs.
package flags

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/confine"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/repo/fetch"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// Global are the flags of every command.
type Global struct {
	Quiet    bool
	Verbose  bool
	Progress string // auto, tty, plain, json, none
	Confine  string // a confine.Mode
}

// Register adds the global flags to the root command.
func (g *Global) Register(cmd *cobra.Command) {
	f := cmd.PersistentFlags()
	f.BoolVarP(&g.Quiet, "quiet", "q", false, "print the result only")
	f.BoolVarP(&g.Verbose, "verbose", "v", false, "print more on stderr")
	f.StringVar(&g.Progress, "progress", "auto", "how to show progress: auto, tty, plain, json or none")
	completeWith(cmd, "progress", "auto", "tty", "plain", "json", "none")
	f.StringVar(&g.Confine, "confine", string(confine.Auto), "how the kernel confines what evaluates a repository: "+strings.Join(confine.Modes(), ", ")+" (required refuses to run without it)")
	completeWith(cmd, "confine", confine.Modes()...)
}

// Validate refuses unknown values.
func (g *Global) Validate() error {
	if err := OneOf("confine", g.Confine, confine.Modes()...); err != nil {
		return err
	}
	return OneOf("progress", g.Progress, "auto", "tty", "plain", "json", "none")
}

// Source are the flags that say what is read and how it is rendered.
type Source struct {
	Path        string
	Environment string
	Offline     bool
	AllowHosts  []string
	KubeVersion string
	APIVersions []string
	NoCache     bool
	// Roots are the files and folders that are applied by hand; empty to find them.
	Roots []string
	// Hub is the context of the kubeconfig whose Argo CD is asked for its clusters and
	// settings, and Known the answer; empty for neither.
	Hub   string
	Known []byte
}

// Again are the flags of a source that the next command about the same platform needs,
// as package next tells it.
var Again = []string{"environment", "root", "offline", "context", "allow-host", "kube-version", "api-versions"}

// All is the environment that stands for every one.
const All = "all"

// Register adds the flags to a command.
func (s *Source) Register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&s.Environment, "environment", "e", "", "environment to read (default: the only one, else dev)")
	f.BoolVar(&s.Offline, "offline", false, "never use the network; remote charts are reported as not rendered")
	AllowHosts(f, &s.AllowHosts)
	f.StringVar(&s.KubeVersion, "kube-version", "", "Kubernetes version the charts are rendered for (default: the plane's)")
	f.StringSliceVar(&s.APIVersions, "api-versions", nil, "further API versions the charts may ask for, as group/version/Kind")
	f.BoolVar(&s.NoCache, "no-cache", false, "render everything again")
	f.StringSliceVar(&s.Roots, "root", nil, "file or folder that is applied by hand, relative to the repository (default: those of ladder.yaml, else what nothing else applies)")
}

// Target refuses versions of the target that charts cannot be rendered for.
func Target(cmd *cobra.Command) error {
	f := cmd.Flags()
	if v := f.Lookup("kube-version"); v != nil && v.Value.String() != "" && !plan.ValidKubeVersion(v.Value.String()) {
		return exit.Usagef("--kube-version %q: write a version of Kubernetes, such as 1.36 or v1.36.2", v.Value)
	}
	if f.Lookup("api-versions") == nil {
		return nil
	}
	versions, err := f.GetStringSlice("api-versions")
	for _, v := range versions {
		if !plan.ValidAPIVersion(v) {
			return exit.Usagef("--api-versions %q: write group/version or group/version/Kind, such as monitoring.coreos.com/v1; for the core group v1", v)
		}
	}
	return err
}

// AllowHosts adds --allow-host. A repository cannot say it for itself.
func AllowHosts(f *pflag.FlagSet, hosts *[]string) {
	f.Var((*hostList)(hosts), "allow-host", "allow plain http and private addresses for `HOST[:PORT]`; may be given several times")
}

// hostList is a list of hosts as the value of a flag.
type hostList []string

// Set adds a host.
func (l *hostList) Set(host string) error { return l.Append(host) }

// Append implements pflag.SliceValue.
func (l *hostList) Append(host string) error {
	if !fetch.ValidHost(host) {
		return errors.New("give a host name or an IP address, with a port or without")
	}
	*l = append(*l, host)
	return nil
}

// Replace implements pflag.SliceValue.
func (l *hostList) Replace(hosts []string) error {
	*l = nil
	for _, h := range hosts {
		if err := l.Append(h); err != nil {
			return err
		}
	}
	return nil
}

// GetSlice implements pflag.SliceValue.
func (l *hostList) GetSlice() []string { return *l }

// String implements pflag.Value.
func (l *hostList) String() string { return strings.Join(*l, ",") }

// Type implements pflag.Value.
func (l *hostList) Type() string { return "hosts" }

// SetPath takes the optional PATH argument.
func (s *Source) SetPath(args []string) {
	s.Path = "."
	if len(args) > 0 {
		s.Path = args[0]
	}
}

// Result are the flags of a command that prints a document.
type Result struct {
	Format string
	Output string
}

// Register adds --format with the allowed formats, the first of which is the
// default, and --output.
func (r *Result) Register(cmd *cobra.Command, formats ...string) {
	f := cmd.Flags()
	f.StringVarP(&r.Format, "format", "o", formats[0], "output format: "+strings.Join(formats, ", "))
	f.StringVar(&r.Output, "output", "", "write the result to this `FILE` instead of stdout")
	completeWith(cmd, "format", formats...)
	_ = f.SetAnnotation("format", formatsOf, formats)
}

// endings are what files of an ending hold: first the format that is called so, then those
// that are written in the same language.
var endings = map[string][]string{
	".dot": {"dot"}, ".htm": {"html"}, ".html": {"html"}, ".json": {"json", "sarif"}, ".md": {"markdown"}, ".mmd": {"mermaid"},
	".sarif": {"sarif"}, ".svg": {"svg"}, ".xml": {"junit"}, ".yaml": {"yaml", "json"}, ".yml": {"yaml", "json"},
}

// formatsOf is the annotation of --format that lists its values.
const formatsOf = "formats"

// Format refuses a format that the command does not have, a file that is called as one,
// since other tools have other meanings of -o, and a file with the ending of another one.
func Format(cmd *cobra.Command) error {
	format := cmd.Flags().Lookup("format")
	if format == nil || format.Annotations == nil {
		return nil
	}
	allowed, given := format.Annotations[formatsOf], format.Value.String()
	if !slices.Contains(allowed, given) {
		err := OneOf("format", given, allowed...)
		if strings.ContainsAny(given, "./") {
			err = exit.With(exit.Usage, fmt.Errorf("%w; the file is --output %s", err, given))
		}
		return err
	}
	output := cmd.Flags().Lookup("output")
	if output == nil {
		return nil
	}
	ending := endings[strings.ToLower(filepath.Ext(output.Value.String()))]
	switch word := strings.ToLower(output.Value.String()); {
	case slices.Contains(allowed, word):
		return exit.Usagef("--output %s would be a file: the format is --format %s, or -o %[2]s", output.Value, word)
	case isFormat(cmd.Root(), word):
		return exit.Usagef("--output %s would be a file: the formats of this command are %s, by --format; a file of that name is --output ./%[1]s", output.Value, strings.Join(allowed, ", "))
	case len(ending) > 0 && slices.Contains(allowed, ending[0]) && !slices.Contains(ending, given):
		return exit.Usagef("--output %s would hold %s: add --format %s, or name the file otherwise", output.Value, given, ending[0])
	}
	return nil
}

// isFormat reports whether a command, or one below it, has a format of that name.
func isFormat(cmd *cobra.Command, word string) bool {
	if f := cmd.Flags().Lookup("format"); f != nil && slices.Contains(f.Annotations[formatsOf], word) {
		return true
	}
	return slices.ContainsFunc(cmd.Commands(), func(below *cobra.Command) bool { return isFormat(below, word) })
}

// OneOf refuses a flag value that is not in the list.
func OneOf(flag, value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	hint := "choose one of " + strings.Join(allowed, ", ")
	if meant := yamldoc.Meant(value, allowed); meant != "" {
		hint = meant + " " + hint
	}
	return exit.With(exit.Usage, fmt.Errorf("--%s %q: %s", flag, value, hint))
}

// Policy refuses what is no policy; empty is that of what applies the platform.
func Policy(value string) error {
	if value == "" {
		return nil
	}
	return OneOf("policy", value, "phases", "edges", "serial")
}

func completeWith(cmd *cobra.Command, flag string, values ...string) {
	// The error only reports an unknown flag, which a test of the command tree
	// would show at once.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}
