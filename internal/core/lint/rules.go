package lint

import (
	"cmp"
	"slices"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// Rules lists the rules that judge an Input, sorted by id.
func Rules() []Rule {
	all := slices.Concat(orderRules(), ladderRules(), argoRules(), olmRules(), fluxRules(), repositoryRules())
	slices.SortFunc(all, func(a, b Rule) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// judged is a rule with its documentation in docs/ID.md.
func judged(id string, severity finding.Severity, summary string, run func(Input) []finding.Finding) Rule {
	r := documented(id, severity, summary)
	r.Run = run
	return r
}

// orderRules judge what comes before what.
func orderRules() []Rule {
	var all []Rule
	for _, u := range beforeUse() {
		all = append(all, judged(u.id, finding.Error, u.summary, func(in Input) []finding.Finding {
			return judgeUse(in, u.id)
		}))
	}
	return append(all,
		judged(ruleDeadlock, finding.Error, "Something waits for what comes only after it", gateDeadlock),
		judged(ruleWait, finding.Warning, "A chart waits for what the order can see to", waitInChart),
		judged(ruleDeclared, finding.Error, "A declared requirement stands later than what requires it", declaredAgainstOrder),
		judged(RuleCycle, finding.Error, "Components require each other", cycles),
		judged(ruleUnprovided, finding.Warning, "Nothing provides what an object requires", unprovided).withErrors(),
		judged(ruleKey, finding.Error, "A pod reads a key that its Secret or ConfigMap does not have", keyMissing),
		judged(ruleListener, finding.Error, "A route names a listener that its Gateway does not have", listenerMissing),
	)
}

// ladderRules judge phases, slots and steps.
func ladderRules() []Rule {
	return []Rule{
		judged(rulePhaseMissing, finding.Error, "A component of a ladder has no phase", phaseMissing),
		judged(rulePhaseBand, finding.Warning, "A phase lies outside the band of the component's domain", phaseOutsideBand),
		judged(ruleSlot, finding.Warning, "A component stands in a slot for another type", slotMismatch),
		judged(rulePhaseStep, finding.Error, "No step matches a component", phaseWithoutStep),
		judged(ruleStepPhase, finding.Info, "A step matches no component", stepWithoutPhase),
		judged(ruleSeveralSteps, finding.Warning, "Several steps match one component", appInSeveralSteps),
		judged(ruleSmokeLast, finding.Warning, "A smoke is not the last of its band", smokeNotLast),
		judged(ruleSmokeShares, finding.Warning, "A smoke shares its phase with what is not a smoke", smokeSharesPhase),
		judged(RuleSmokeTestsNothing, finding.Error, "Nothing of a smoke can fail", smokeTestsNothing),
		judged(ruleSmokeTargets, finding.Warning, "A smoke does not say what it validates", smokeWithoutTargets),
		judged(ruleBundled, finding.Warning, "CRDs come together with the workload that serves them", crdsBundled),
		judged(ruleWithOperator, finding.Info, "Objects come together with the operator that reconciles them", objectsBundled),
		judged(ruleBootstrap, finding.Error, "A bootstrap stands before the runtime that it talks to", bootstrapBeforeRuntime),
		judged(ruleStore, finding.Error, "A secret store stands before the runtime behind it", storeBeforeRuntime),
	}
}

// argoRules judge what a repository says to Argo CD.
func argoRules() []Rule {
	return []Rule{
		judged(ruleDependsOn, finding.Error, "An Application has spec.dependsOn, which Argo CD does not know", dependsOnForbidden),
		judged(ruleGeneratedWave, finding.Warning, "A sync wave on generated Applications orders nothing", waveOnGenerated),
		judged(ruleAppHealth, finding.Warning, "Sync waves between Applications do not wait", applicationHealth),
		judged(ruleMisplaced, finding.Error, "A sync wave is written where it does not count", waveMisplaced),
		judged(ruleProgressive, finding.Warning, "RollingSync orders nothing: progressive syncs are off", progressiveSyncsOff),
		judged(ruleAutomated, finding.Info, "RollingSync switches automated sync and its self-heal off", automatedUnderRollingSync),
		judged(ruleHealthCheck, finding.Warning, "Nothing assesses the health of a kind that others wait for", healthCheckMissing),
		judged(ruleExcluded, finding.Warning, "The settings of Argo CD hide a kind that the repository applies", kindExcluded),
		judged(ruleUnwatched, finding.Warning, "Argo CD does not look for Applications in a namespace", applicationUnwatched),
		judged(ruleSyncTimeout, finding.Warning, "Argo CD ends a sync before a hook or Job of it has to be done", syncTimeoutTooShort),
		judged(ruleHooksOnly, finding.Warning, "An Application of hooks alone is never synced by itself", hooksNeverSync),
		judged(ruleLongName, finding.Error, "The name of an Application does not fit into the label that tracks what it applies", nameTooLong),
		judged(ruleBuild, finding.Warning, "Argo CD cannot build a kustomization with the options of its settings", buildOptionMissing).withErrors(),
		judged(ruleQuoted, finding.Error, "Argo CD passes on the quotes in the options of kustomize", buildOptionQuoted),
		judged(ruleDryRun, finding.Error, "A dry run fails for a kind that the same sync would bring", dryRunOnMissing),
		judged(ruleProjectLate, finding.Error, "An Application is applied before its AppProject", projectBeforeUse),
		judged(ruleProject, finding.Error, "The AppProject does not allow a source, destination or kind", projectForbids),
	}
}

// olmRules judge what the Operator Lifecycle Manager is told to install.
func olmRules() []Rule {
	return []Rule{
		judged(ruleApproval, finding.Warning, "Nothing approves the InstallPlan of an operator", installPlanApproval).withErrors(),
		judged(ruleGroupMissing, finding.Error, "A Subscription has no OperatorGroup in its namespace", operatorGroupMissing),
		judged(ruleSeveralGroups, finding.Error, "Two OperatorGroups are in one namespace", operatorGroupsSeveral),
		judged(ruleInstallMode, finding.Error, "An operator does not support what its OperatorGroup targets", installModeUnsupported),
	}
}

// fluxRules judge what a repository says to Flux.
func fluxRules() []Rule {
	return []Rule{
		judged(ruleUnawaited, finding.Info, "A Kustomization that others depend on is Ready before what it applies", dependsOnWithoutWait),
		judged(ruleDelay, finding.Info, "A long chain of dependencies delays the rollout by the polling of Flux", dependsOnDelay),
	}
}

// repositoryRules judge what a repository holds as a whole.
func repositoryRules() []Rule {
	return []Rule{
		judged(RuleImage, finding.Warning, "An image reference is malformed, or names no version", imageReference),
		judged(ruleHelmfile, finding.Info, "A Helmfile installs what a component is now", installedByHelmfile),
		judged(ruleDuplicate, finding.Warning, "Two components own one object", duplicateResource).withErrors(),
		judged(ruleSkew, finding.Warning, "What is applied before Argo CD is another version than what comes later", versionSkew),
	}
}

// IDs are the names of rules, in their order.
func IDs(rules []Rule) []string {
	ids := make([]string, len(rules))
	for i, r := range rules {
		ids[i] = r.ID
	}
	return ids
}
