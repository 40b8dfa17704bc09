package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// course is one way to roll the same platform out.
type course struct {
	what string
	args []string
	// targets are what its makespan is held against, one row each; a course without
	// any is only measured.
	targets []target
}

// target is how many times faster than another a course has to be.
type target struct {
	against string
	times   float64
}

const (
	serial       = "native, serial"
	rollingSync  = "RollingSync of Argo CD, followed"
	oneByOne     = "Argo CD driven, serial: sync and wait, one by one"
	nativePhases = "native, phases"
	nativeEdges  = "native, edges"
)

// courses are those of engines, the reference first.
func courses() []course {
	policy := func(name string) []string { return []string{"--policy", name} }
	driven := func(name string) []string { return append(policy(name), "--engine", "argocd") }
	return []course{
		{serial, policy("serial"), nil},
		{nativePhases, policy("phases"), []target{{serial, 1}}},
		{nativeEdges, policy("edges"), []target{{rollingSync, 2}, {oneByOne, 10}}},
		{rollingSync, []string{"--engine", "argocd"}, nil},
		{"Argo CD driven, phases", driven("phases"), []target{{rollingSync, 1}}},
		{"Argo CD driven, edges", driven("edges"), []target{{rollingSync, 2}}},
		{oneByOne, driven("serial"), nil},
	}
}

// platform is what the courses roll out.
type platform struct {
	name, path, environment string
	speed                   float64
}

// engines rolls the same platform out by the order of Argo CD itself, by Argo CD
// driven, and by the native engine, one after the other on one plane that is emptied
// in between, with the same delays. Makespans are of the clock on the wall: the
// delays are divided by the speed, the work of the engines is not.
func (s *suite) engines(ctx context.Context) (err error) {
	if s.argocd == "" {
		return errors.New("ladder-argocd is missing, run make argocd")
	}
	p := platform{"examples/ameide", filepath.Join("examples", "ameide"), "dev", 40}
	if s.quick {
		p = platform{"24 components in 8 phases", filepath.Join(s.temp, "engines"), "dev", 20}
		if err := writeLadder(p.path, 24, 8); err != nil {
			return err
		}
	}
	const name = "engines"
	home := "XDG_STATE_HOME=" + s.temp
	if _, err := s.output(ctx, home, "plane", "up", name, "--quiet"); err != nil {
		return err
	}
	defer func() {
		// An interrupt must not leave the plane.
		_, downErr := s.output(context.WithoutCancel(ctx), home, "plane", "down", name)
		err = errors.Join(err, downErr)
	}()
	access, err := s.access(ctx, home, name)
	if err != nil {
		return err
	}
	plane, err := newSweeper(ctx, access)
	if err != nil {
		return err
	}
	all := map[string]measured{}
	fmt.Fprintf(os.Stderr, "%s, speed %g\n", p.name, p.speed)
	for _, c := range courses() {
		if err := plane.sweep(ctx); err != nil {
			return fmt.Errorf("empty the plane: %w", err)
		}
		m, err := s.measure(ctx, p, c, home, name)
		if err != nil {
			return fmt.Errorf("%s: %w", c.what, err)
		}
		all[c.what] = m
		fmt.Fprintf(os.Stderr, "%s: %s (others used %.0f%% of the machine)\n", c.what, m, 100*m.others)
	}
	reference := all[serial]
	for _, c := range courses() {
		m := all[c.what]
		r := row{
			what: p.name + ": " + c.what, measured: m.String(), against: serial,
			ratio:  fmt.Sprintf("makespan %.2f, requests %.2f, CPU %.2f", m.span/reference.span, m.requests/reference.requests, m.cpu()/reference.cpu()),
			target: "-", ok: true,
		}
		s.add(r)
		for _, t := range c.targets {
			if s.quick {
				break // the small platform is there to try the engines, not to judge them
			}
			faster := all[t.against].span / m.span
			s.add(row{
				what: "the same", measured: fmt.Sprintf("%.1f s", m.span), against: fmt.Sprintf("%s, %.1f s", t.against, all[t.against].span),
				ratio: fmt.Sprintf("%.1fx faster", faster), target: fmt.Sprintf(">= %gx", t.times), ok: faster >= t.times,
			})
		}
	}
	return nil
}

// measured is what one rollout took.
type measured struct {
	// span is the makespan in seconds, own what is left of it without the simulated
	// delays of the plan.
	span, own float64
	// requests are those that the API server has answered, of everybody.
	requests float64
	// command is the CPU time of the command with everything that it started, Argo
	// CD included, plane that of the plane; in seconds.
	command, plane float64
	// others is the share of the machine that neither of them used, but somebody.
	others float64
}

func (m measured) cpu() float64 { return m.command + m.plane }

// String gives the figures.
func (m measured) String() string {
	return fmt.Sprintf("%.1f s (%.1f s beside the delays), %.0f API requests, CPU %.0f s + plane %.0f s", m.span, m.own, m.requests, m.command, m.plane)
}

// measure rolls a platform out on an empty plane.
func (s *suite) measure(ctx context.Context, p platform, c course, home, name string) (m measured, err error) {
	before, err := s.meters(ctx, home, name)
	if err != nil {
		return m, err
	}
	args := append([]string{
		"rehearse", p.path, "-e", p.environment, "--plane", name, "--format", "json", "--progress", "none",
		"--speed", fmt.Sprint(p.speed), "--seed", "1", "--jitter", "0", "--least-timeout", "10m",
	}, c.args...)
	if slices.Contains(c.args, "argocd") {
		args = append(args, "--argocd-binary", s.argocd)
	}
	cmd := exec.CommandContext(ctx, s.ladder, args...)
	cmd.Env = append(os.Environ(), home)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	runErr := cmd.Run()
	r, err := succeeded(stdout.Bytes(), stderr.String(), runErr)
	if err != nil {
		return m, err
	}
	after, err := s.meters(ctx, home, name)
	if err != nil {
		return m, err
	}
	planned, err := s.planned(ctx, p, r.Policy)
	if err != nil {
		return m, err
	}
	m = measured{
		span: r.MakespanSeconds, own: r.MakespanSeconds - planned/p.speed,
		requests: after.requests - before.requests,
		// It has waited for everything that it started, so that theirs is in it.
		// Source: getrusage(2), wait4(2).
		command: (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(),
		plane:   after.plane - before.plane,
	}
	if all := after.total - before.total; all > 0 {
		m.others = max(0, (after.busy-before.busy-m.cpu())/all)
	}
	return m, nil
}

// planned is the makespan in seconds that the plan of a policy expects.
func (s *suite) planned(ctx context.Context, p platform, policy string) (float64, error) {
	out, err := s.output(ctx, "", "plan", p.path, "-e", p.environment, "--policy", policy, "--format", "json", "--progress", "none")
	if err != nil {
		return 0, err
	}
	var document struct {
		Makespan struct {
			Seconds float64 `json:"seconds"`
		} `json:"makespan"`
	}
	if err := json.Unmarshal(out, &document); err != nil {
		return 0, fmt.Errorf("read the plan: %w", err)
	}
	return document.Makespan.Seconds, nil
}

// output runs the built command and returns what it prints.
func (s *suite) output(ctx context.Context, env string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, s.ladder, args...)
	if env != "" {
		cmd.Env = append(os.Environ(), env)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("ladder %s: %w\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return out, nil
}
