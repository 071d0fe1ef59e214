import { stringify } from 'yaml'
import { type AlarmKind, alarmEntries } from './alarm-list.ts'

/** Alarms that only somebody beside the gateways can raise: they are away, slow, or answer errors. */
const OUTSIDE = [
  {
    alert: 'BerthGatewayDown',
    expr: 'up{job="berth"} == 0',
    for: '2m',
    labels: { severity: 'page' },
    annotations: {
      summary: 'a gateway does not answer',
      description:
        'What runs goes on; with no gateway at all nobody reaches it. Look at its log and at its database; `/ready` says which of the two it is.',
    },
  },
  {
    alert: 'BerthCallsFail',
    expr: 'sum(rate(berth_answers_total{status=~"5.."}[5m])) / sum(rate(berth_answers_total[5m])) > 0.02',
    for: '5m',
    labels: { severity: 'page' },
    annotations: {
      summary: 'more than 2 % of calls end in an error of ours',
      description: 'The log has each with its `request_id` and code; the dashboard says which operations.',
    },
  },
  {
    alert: 'BerthCallsSlow',
    expr: 'histogram_quantile(0.99, sum by (le, operation) (rate(berth_call_seconds_bucket{operation!~"deploy_instance|.*_file.*|.*log.*|model.*|other"}[10m]))) > 2.5',
    for: '15m',
    labels: { severity: 'ticket' },
    annotations: {
      summary: 'calls of {{ $labels.operation }} are slow',
      description:
        'One of a hundred takes longer than 2.5 s. Look at the database first: locks, its disk, its processors.',
    },
  },
]

/** `berth_engines_lost` is `BerthEnginesLost`. */
const nameOf = (metric: string) =>
  metric.replace(/(?:^|_)([a-z])/g, (_all, letter: string) => letter.toUpperCase())

function ruleOf({ metric, lastsSeconds, severity, title, meaning, todo, isLocal }: AlarmKind) {
  return {
    alert: nameOf(metric),
    // Every gateway says the same of what is about the whole installation.
    expr: isLocal ? `${metric} > 0` : `max(${metric}) > 0`,
    ...(lastsSeconds > 0 && { for: `${lastsSeconds}s` }),
    labels: { severity },
    annotations: { summary: title, description: `${meaning} ${todo}` },
  }
}

/** Alert rules for Prometheus, in YAML: every alarm of the gateways, and what only others can see of them. */
export function alertRules(): string {
  const rules = [...OUTSIDE, ...alarmEntries().map(([, kind]) => ruleOf(kind))]
  return (
    '# Made from apps/gateway/src/domains/alarms by `npm run docs -w @berth/gateway`.\n' +
    stringify({ groups: [{ name: 'berth', rules }] }, { lineWidth: 0 })
  )
}

/** The table of alarms in the operating guide, in Markdown. */
export function alarmsTable(): string {
  const rows = alarmEntries().map(
    ([, { metric, title, severity, meaning, todo }]) =>
      `| ${title} (\`${metric}\`, ${severity === 'page' ? 'at once' : 'today'}) | ${meaning} | ${todo} |`,
  )
  return ['| Alarm | What it means | What to do |', '|---|---|---|', ...rows, ''].join('\n')
}
