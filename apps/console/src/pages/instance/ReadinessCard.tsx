import type { Instance } from '@berth/contract/instances'
import { useTranslation } from 'react-i18next'
import { useEvents } from '../../instances/use-events.ts'
import { bytesText } from '../../ui/bytes.ts'
import { Card } from '../../ui/Card.tsx'
import { useFormat } from '../../ui/format.ts'
import { usePullRate } from './pull-rate.ts'
import classes from './ReadinessCard.module.css'
import { type StepState, startSteps } from './start-steps.ts'

interface ReadinessCardProps {
  instance: Instance
  /** When the instance was looked at last, in milliseconds since 1970. */
  seenAtMs: number
}

type Progress = NonNullable<Instance['progress']>

/** How far a start is: four steps, with what has come of the image and how fast (B6). Nothing where nothing starts. */
export function ReadinessCard({ instance, seenAtMs }: ReadinessCardProps) {
  const { progress } = instance
  const starts = ['creating', 'pulling', 'restarting'].includes(instance.status)
  if (!starts || progress === null || progress.step === 'ready') return null
  return <Steps instance={instance} progress={progress} seenAtMs={seenAtMs} />
}

function Steps({ instance, progress, seenAtMs }: ReadinessCardProps & { progress: Progress }) {
  const { t } = useTranslation('instance')
  const { data: events = [] } = useEvents(instance)
  const rate = usePullRate(progress.step === 'pulling' ? progress.bytes_done : null, seenAtMs)
  return (
    <Card title={t('ready.title')} aside={t('ready.percent', { percent: progress.percent })}>
      <ol className={classes.steps}>
        {startSteps(progress, events, Date.now()).map(step => (
          <Step key={step.step} {...step} instance={instance} progress={progress} rate={rate} />
        ))}
      </ol>
      <p className={classes.note}>{t('ready.note')}</p>
    </Card>
  )
}

interface StepProps extends StepState {
  instance: Instance
  progress: Progress
  /** Bytes a second, of a pull. */
  rate: number | null
}

function Step({ step, state, seconds, instance, progress, rate }: StepProps) {
  const { t } = useTranslation('instance')
  const format = useFormat()
  const pulled = step === 'pulling' && state === 'now' ? partPulled(progress) : null
  return (
    <li data-state={state} aria-current={state === 'now' ? 'step' : undefined}>
      <span className={classes.bar} aria-hidden="true">
        <span style={{ width: `${barOf(state, pulled)}%` }} />
      </span>
      <span className={classes.first}>
        <span>{t(`ready.steps.${step}`)}</span>
        <span className="tabular">
          {pulled === null ? seconds !== null && format.duration(seconds) : `${Math.floor(pulled)} %`}
        </span>
      </span>
      <span className={classes.second}>{underStep()}</span>
      <span className="said">{t(`ready.state.${state}`)}</span>
    </li>
  )

  function underStep(): string {
    const { bytes_done, bytes_total } = progress
    if (step === 'scheduled') return instance.region_name
    if (step === 'probing') return [...instance.http_ports, ...instance.tcp_ports].join(', ')
    if (step !== 'pulling' || state !== 'now' || bytes_done === null || bytes_total === null) return ''
    const done = t('ready.bytes', { done: bytesText(bytes_done), total: bytesText(bytes_total) })
    if (rate === null || rate <= 0) return done
    const left = format.duration((bytes_total - bytes_done) / rate)
    return t('ready.bytes_at', { bytes: done, rate: bytesText(rate), left })
  }
}

function partPulled({ bytes_done, bytes_total }: Progress): number | null {
  if (bytes_done === null || bytes_total === null || bytes_total <= 0) return null
  return Math.min(100, (bytes_done * 100) / bytes_total)
}

function barOf(state: StepState['state'], pulled: number | null): number {
  if (state === 'later') return 0
  return state === 'done' ? 100 : (pulled ?? 50)
}
