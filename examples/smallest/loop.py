"""The smallest governed loop: read the specification, apply the patch, evaluate, stop."""

import holdshort as hs

CONTRACT = """
apiVersion: holdshort/v1
kind: AgentLoopContract
metadata: {name: smallest, owner: you}
spec:
  goal: {version: 1, statement: VIP customers get 15 %., successCriteria: [rule_is_right]}
  budgets: {maxSteps: 6, maxToolCalls: 3, maxTokens: 1000, maxCostUsd: 0.10, deadlineSeconds: 10}
  tools: {allow: [read_spec, apply_patch, run_eval]}
"""
rates = {"vip": 10, "regular": 0}
right = {"vip": 15, "regular": 0}


@hs.tool(side_effect="read")
def read_spec() -> str:
    """Read the policy."""
    return "VIP customers receive a 15 % discount"


@hs.tool(side_effect="write", idempotency="run", receiver=hs.Receiver(dedupes="key"))
def apply_patch(percent: int) -> dict[str, int]:
    """Set the VIP rate. Setting it twice is setting it once."""
    rates["vip"] = percent
    return dict(rates)


@hs.tool(side_effect="read")
def run_eval() -> bool:
    """Try the rule."""
    return rates == right


@hs.evaluator("rule_is_right")
def rule_is_right(_: hs.EvalContext) -> hs.Verdict:
    """Look at the rule itself, not at what the agent says."""
    return hs.Verdict(held=rates == right, evidence=dict(rates))


loop = hs.Loop(
    contract=CONTRACT,
    agent=hs.ScriptedAgent(
        [hs.call("read_spec"), hs.call("apply_patch", percent=15), hs.call("run_eval"), hs.done()]
    ),
    tools=[read_spec, apply_patch, run_eval],
    evaluators=[rule_is_right],
)

if __name__ == "__main__":
    result = hs.run(loop)
    print(f"final={result.phase} evidence={len(result.evidence)}")
