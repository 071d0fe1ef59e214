import {
  type ConnectionFinding,
  type ConnectionFindingCode,
  diagnoseConnection,
} from '@berth/contract/connection-doctor'
import { Button } from '@mantine/core'
import { IconAlertTriangle, IconCircleCheck, IconInfoCircle } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import type doctorTexts from '../../public/locales/en/doctor.json'
import { queryOf } from '../api/queries.ts'
import { searchOf } from '../app/search.ts'
import { Answer } from '../ui/Answer.tsx'
import { useFormat } from '../ui/format.ts'
import classes from './DoctorPart.module.css'

const ICONS = { fault: IconAlertTriangle, note: IconInfoCircle, good: IconCircleCheck } as const

/** What is good needs no advice. */
type Advised = keyof typeof doctorTexts.do

/** Where a button leads that helps: the customer's keys, or a dialog of the instance. */
type Way = 'keys' | 'edit' | 'start' | 'restart' | 'logs' | 'events'

const WAYS: Partial<Record<ConnectionFindingCode, Way>> = {
  instance_stopped: 'start',
  instance_starting: 'events',
  instance_stopping: 'events',
  instance_failed: 'events',
  machine_full: 'restart',
  machine_outdated: 'restart',
  program_missing: 'logs',
  command_failed: 'logs',
  command_ended: 'logs',
  key_none: 'keys',
  key_unknown: 'keys',
  key_none_chosen: 'edit',
  key_not_chosen: 'edit',
  port_silent: 'logs',
  port_undeclared: 'edit',
  udp_silent: 'logs',
  http_slow: 'logs',
  http_error: 'logs',
}

/** Tries every way into an instance when asked to, and says which is at fault and what to do (B8). */
export function DoctorPart({ instanceId }: { instanceId: string }) {
  const { t } = useTranslation('doctor')
  // Asked for by its button alone: it opens connections to what the customer runs.
  const query = useQuery({
    ...queryOf(diagnoseConnection, { params: { id: instanceId } }),
    enabled: false,
    gcTime: 0,
  })
  const { data, error, isFetching } = query
  return (
    <section className={classes.part}>
      <div className={classes.head}>
        <div>
          <h3>{t('title')}</h3>
          <p className={classes.hint}>{t(isFetching ? 'asking' : 'hint')}</p>
        </div>
        <Button size="xs" variant="default" loading={isFetching} onClick={() => void query.refetch()}>
          {t(data ? 'again' : 'ask')}
        </Button>
      </div>
      <div role="status">
        {(data || (error && !isFetching)) && (
          <Answer query={query} data={data} rows={3}>
            {({ findings }) => <Findings findings={findings} instanceId={instanceId} />}
          </Answer>
        )}
      </div>
    </section>
  )
}

function Findings({ findings, instanceId }: { findings: readonly ConnectionFinding[]; instanceId: string }) {
  const { t } = useTranslation('doctor')
  const isFine = findings.every(({ level }) => level !== 'fault')
  return (
    <>
      {isFine && <p className={classes.fine}>{t('fine')}</p>}
      <ul className={classes.findings}>
        {findings.map(one => (
          <Finding
            key={`${one.code} ${one.port} ${one.values.protocol ?? ''}`}
            finding={one}
            instanceId={instanceId}
          />
        ))}
      </ul>
    </>
  )
}

function Finding({ finding, instanceId }: { finding: ConnectionFinding; instanceId: string }) {
  const { t } = useTranslation('doctor')
  const format = useFormat()
  const { code, level, port, values } = finding
  const Icon = ICONS[level]
  const way = WAYS[code]
  const shown = { ...values, port, ...(values.at && { at: format.moment(String(values.at)) }) }
  return (
    <li className={classes.finding} data-level={level}>
      <Icon size={16} stroke={1.6} aria-hidden="true" />
      <div className={classes.words}>
        <p>
          <span className="said">{t(`level.${level}`)}: </span>
          {t(`said.${code}`, shown)}
        </p>
        {level !== 'good' && <p className={classes.hint}>{t(`do.${code as Advised}`, shown)}</p>}
      </div>
      {way && (
        <Button
          component={Link}
          {...(way === 'keys'
            ? { to: '/settings', search: searchOf({ section: 'ssh-keys' }) }
            : { to: '/instance-list', search: searchOf({ dialog: way, instance: instanceId }) })}
          size="xs"
          variant="default"
        >
          {t(`act.${way}`)}
        </Button>
      )}
    </li>
  )
}
