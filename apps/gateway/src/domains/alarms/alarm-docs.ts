import type { Call } from '@berth/contract/call'
import { calls } from '@berth/contract/calls'
import { stringify } from 'yaml'
import { type AlarmKind, alarmEntries } from './alarm-list.ts'

/** What takes as long as what it asks: machines, models, mails, files, and streams that go on while there is something to tell. */
const takesItsTime = ({ operation, timeout, streams, file, bytes }: Call) =>
  streams ||
  file !== null ||
  bytes ||
  !['fast', 'normal'].includes(timeout) ||
  /^(model|file)\.|^(instance|image)\..*\blogs?$/.test(operation)

/** Operations as a matcher of PromQL has them; `other` is all that is no call. */
const UNHURRIED = [...calls.filter(takesItsTime).map(({ operation }) => operation), 'other'].sort().join('|')

/** Alarms that only somebody beside the gateways can raise: they are away, slow, or answer errors. */
const OUTSIDE = [
  {
    alert: 'BerthGatewayDown',
    expr: 'up{job="berth"} == 0',
    lasts: '2m',
    severity: 'page',
    title: 'a gateway does not answer',
    meaning:
      'What runs goes on, and others of the installation serve. With no gateway at all nobody reaches what runs.',
    todo: 'Look at its process and at the end of its log: exit status 2 is a setting or the catalogue, 1 says why in its last lines. `/ready` says whether it is the database.',
  },
  {
    alert: 'BerthCallsFail',
    expr: 'sum(rate(berth_answers_total{status=~"5.."}[5m])) / sum(rate(berth_answers_total[5m])) > 0.02',
    lasts: '5m',
    severity: 'page',
    title: 'more than 2 % of calls end in an error of ours',
    meaning: 'Customers read that something went wrong here, and consoles try again.',
    todo: 'The log has each with its `request_id` and code; the dashboard says which operations. Where all fail at once it is the database.',
  },
  {
    alert: 'BerthCallsSlow',
    expr: `histogram_quantile(0.99, sum by (le, operation) (rate(berth_call_seconds_bucket{operation!~"${UNHURRIED}"}[10m]))) > 2.5`,
    lasts: '15m',
    severity: 'ticket',
    title: 'calls of {{ $labels.operation }} are slow',
    meaning: 'One of a hundred takes longer than 2.5 s.',
    todo: 'Look at the database first: locks, its disk, its processors.',
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

function outsideRule({ alert, expr, lasts, severity, title, meaning, todo }: (typeof OUTSIDE)[number]) {
  const annotations = { summary: title, description: `${meaning} ${todo}` }
  return { alert, expr, for: lasts, labels: { severity }, annotations }
}

/** Alert rules for Prometheus, in YAML: every alarm of the gateways, and what only others can see of them. */
export function alertRules(): string {
  const rules = [...OUTSIDE.map(outsideRule), ...alarmEntries().map(([, kind]) => ruleOf(kind))]
  return (
    '# Made from apps/gateway/src/domains/alarms by `npm run docs -w @berth/gateway`.\n' +
    stringify({ groups: [{ name: 'berth', rules }] }, { lineWidth: 0 })
  )
}

/** The table of alarms in the operating guide, in Markdown; those that Prometheus alone raises are last. */
export function alarmsTable(): string {
  const whenOf = (severity: string) => (severity === 'page' ? 'at once' : 'today')
  const rowOf = (title: string, name: string, severity: string, meaning: string, todo: string) =>
    `| ${title} (\`${name}\`, ${whenOf(severity)}) | ${meaning} | ${todo} |`
  const rows = [
    ...alarmEntries().map(([, { title, metric, severity, meaning, todo }]) =>
      rowOf(title, metric, severity, meaning, todo),
    ),
    ...OUTSIDE.map(({ title, alert, severity, meaning, todo }) =>
      rowOf(title.replace(/\{\{.*\}\}/, 'some kind'), alert, severity, meaning, todo),
    ),
  ]
  return ['| Alarm | What it means | What to do |', '|---|---|---|', ...rows, ''].join('\n')
}
