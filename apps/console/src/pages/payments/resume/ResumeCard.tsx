import { startInstance } from '@berth/contract/instances'
import { getResume, type Resume, type StoppedUnpaid, setResume } from '@berth/contract/resume'
import { Switch } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useRef } from 'react'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../../../api/queries.ts'
import { told, useChange } from '../../../api/use-change.ts'
import { searchOf } from '../../../app/search.ts'
import { useOffFor } from '../../../app/session/use-off-for.ts'
import { VerifiedButton } from '../../../app/session/VerifiedButton.tsx'
import { Answer } from '../../../ui/Answer.tsx'
import { Card } from '../../../ui/Card.tsx'
import { useFormat } from '../../../ui/format.ts'
import { toast } from '../../../ui/toast.ts'
import { REFRESH_MS } from '../refresh.ts'
import classes from './ResumeCard.module.css'

/** What stopped because the balance was used up, what of it can be started now, and what starts by itself (B4). */
export function ResumeCard() {
  const { t } = useTranslation('resume')
  const query = useQuery({ ...queryOf(getResume, {}), refetchInterval: REFRESH_MS })
  return (
    <Card title={t('title')} aside={query.data && <OnOff resume={query.data} />}>
      <Answer query={query} data={query.data} rows={2}>
        {resume => (
          <div className={classes.parts}>
            <p className={classes.text}>{t('what')}</p>
            {resume.asked > 0 && resume.asked < resume.instances && (
              <p className={classes.text}>{t('some', { asked: resume.asked, all: resume.instances })}</p>
            )}
            {resume.stopped.length > 0 && <Stopped resume={resume} />}
          </div>
        )}
      </Answer>
    </Card>
  )
}

/** Says the same of all instances: those that are there, and those to come. */
function OnOff({ resume }: { resume: Resume }) {
  const { t } = useTranslation('resume')
  const set = useChange(setResume)
  const offFor = useOffFor(setResume)
  const isOn = resume.by_default && resume.asked === resume.instances
  const turn = async () => {
    await set.send({ body: { by_default: !isOn, all: true } })
    toast.good(t(isOn ? 'turned_off' : 'turned_on'))
  }
  return (
    <Switch
      withThumbIndicator={false}
      // It is named by the card's title, and stands at its edge.
      styles={{ labelWrapper: { display: 'none' } }}
      aria-label={t('title')}
      checked={isOn}
      disabled={offFor !== null || set.busy}
      onChange={() => void turn().catch(told)}
    />
  )
}

function Stopped({ resume }: { resume: Resume }) {
  const { t } = useTranslation('resume')
  const names = useRef(new Map<string, string>())
  const start = useChange(startInstance, {
    // Whoever has left the page is told all the same.
    whenGone: ({ instance_id }) =>
      toast.good(t('started', { name: names.current.get(instance_id) ?? instance_id })),
  })
  const ready = resume.stopped.filter(({ covered, ready }) => covered && ready)
  const begin = async (rows: readonly StoppedUnpaid[]) => {
    // One after the other, in the order in which they stopped; one that is refused says so, and holds up no other.
    for (const { instance_id, gpu_spec_id, gpu_count, name } of rows) {
      names.current.set(instance_id, name)
      await start
        .send({ body: { instance_id, gpu_spec_id, gpu_count } })
        .then(() => toast.good(t('started', { name })))
        .catch(told)
    }
  }
  return (
    <>
      <h3 className={classes.heading}>{t('stopped')}</h3>
      <ul className={classes.rows}>
        {resume.stopped.map(row => (
          <li key={row.instance_id} className={classes.row}>
            <div className={classes.what}>
              <Link to="/instance" search={searchOf({ id: row.instance_id })}>
                {row.name}
              </Link>
              <span className={classes.why}>
                <Why row={row} currency={resume.currency} />
              </span>
            </div>
            <VerifiedButton
              call={startInstance}
              size="xs"
              variant="default"
              aria-label={t('start_label', { name: row.name })}
              reason={row.covered && row.ready ? null : t(row.ready ? 'not_covered' : 'stopping')}
              disabled={start.busy}
              onClick={() => void begin([row])}
            >
              {t('start')}
            </VerifiedButton>
          </li>
        ))}
      </ul>
      {resume.stopped_count > resume.stopped.length && (
        <p className={classes.text}>{t('more', { more: resume.stopped_count - resume.stopped.length })}</p>
      )}
      {ready.length > 1 && (
        <div>
          <VerifiedButton
            call={startInstance}
            size="xs"
            loading={start.busy}
            onClick={() => void begin(ready)}
          >
            {t('start_all')}
          </VerifiedButton>
        </div>
      )}
    </>
  )
}

/** What starting it takes, and why it does not run yet. */
function Why({ row, currency }: { row: StoppedUnpaid; currency: string }) {
  const { t } = useTranslation(['resume', 'errors'])
  const format = useFormat()
  const { failure, reserve_cents: reserve, next_try_at: next } = row
  const why = failure && t(`errors:${failure.code as 'gpu_sold_out'}`, failure.values)
  const parts = [
    row.gpu_spec_name,
    reserve === null ? t('not_offered') : t('reserve', { amount: format.cents(reserve, currency) }),
    reserve !== null && !row.covered && t('not_covered'),
    row.resumes && why === null && t('by_itself'),
    why,
    why !== null && (next === null ? t('given_up') : t('tried_again', { date: format.moment(next) })),
  ]
  return parts.filter(part => typeof part === 'string').join(' · ')
}
