import { topup } from '@berth/contract/billing'
import { getConnection, type Instance } from '@berth/contract/instances'
import { Button } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { searchOf } from '../../app/search.ts'
import { useOffFor } from '../../app/session/use-off-for.ts'
import { VerifiedButton } from '../../app/session/VerifiedButton.tsx'
import { CALLS_BEHIND, type RowAction } from '../../instances/instance-actions.ts'
import { useInstanceTexts } from '../../instances/instance-texts.ts'
import { useEvents } from '../../instances/use-events.ts'
import { useWays } from '../../instances/use-ways.ts'
import { EventWords } from '../../ui/EventWords.tsx'
import { useFormat } from '../../ui/format.ts'
import { paymentsOfPage } from '../../ui/payments-of-page.ts'
import { diskShareOf } from './graphs/graph-data.ts'
import { megabytesText } from './graphs/graph-texts.ts'
import { metricsQuery } from './graphs/metrics-query.ts'
import { goTo } from './PartsBar.tsx'
import classes from './Troubles.module.css'
import { lackedPortsOf, oomKillsOf, type Trouble, type TroubleWay, troublesOf } from './troubles.ts'

interface TroublesProps {
  instance: Instance
  /** The dialog of an action opens. */
  onAsk: (action: RowAction) => void
}

/** What is amiss with the instance, and what to do about it. */
export function Troubles({ instance, onAsk }: TroublesProps) {
  const disk = useDisk(instance)
  const lackedPorts = useLackedPorts(instance)
  const oomKills = useOomKills(instance)
  const troubles = troublesOf(instance, disk, { lackedPorts, oomKills })
  if (troubles.length === 0) return null
  return (
    <div className={classes.troubles}>
      {troubles.map(trouble => (
        <One key={trouble.code} trouble={trouble} instance={instance} onAsk={onAsk} />
      ))}
    </div>
  )
}

/** How full the disk is, by the figures that its graphs are drawn from. */
function useDisk({ instance_id, status }: Instance) {
  const { data } = useQuery({ ...metricsQuery(instance_id, 'hour'), enabled: status === 'running' })
  const disk = data ? diskShareOf(data) : null
  return disk && { share: disk.share, left: megabytesText(disk.leftMb) }
}

function useOomKills(instance: Instance): number {
  const { data: events } = useEvents(instance, instance.status === 'running')
  return events ? oomKillsOf(instance, events) : 0
}

/** What the cards of the page ask for as well: it is asked for once. */
function useLackedPorts(instance: Instance): readonly string[] {
  const { tcp_ports, udp_ports, status, instance_id } = instance
  const off = useOffFor(getConnection)
  const enabled = status === 'running' && off === null && tcp_ports.length + udp_ports.length > 0
  const { data: events } = useEvents(instance, enabled)
  const { data: ways } = useWays(instance_id, enabled)
  return enabled && events && ways ? lackedPortsOf(instance, events, ways) : []
}

function One({ trouble, instance, onAsk }: TroublesProps & { trouble: Trouble }) {
  const { t } = useTranslation(['instance', 'events'])
  const format = useFormat()
  const { code, tone, way } = trouble
  const { reason, deleted_on } = instance
  const values = { ...trouble.values, date: deleted_on === null ? '' : format.date(deleted_on) }
  // Why it is in its status is said in the words of that reason; how a command ended stands in the trouble itself.
  const isReason = ['failed', 'exited', 'guest', 'disk_full'].includes(code) && reason !== null
  return (
    <div className={classes.trouble} data-tone={tone} role="alert">
      <IconAlertTriangle size={16} stroke={1.6} aria-hidden="true" />
      <div className={classes.words}>
        <strong>
          {isReason
            ? t('trouble.reason', { why: t(`events:reason.${reason.code}`, { defaultValue: reason.code }) })
            : t(`trouble.${code}.title`, values)}
        </strong>{' '}
        {t(`trouble.${code}.hint`, values)}
        {isReason && reason.detail !== '' && <EventWords detail={reason.detail} of="reason" />}
      </div>
      {way !== null && <Way way={way} onAsk={onAsk} />}
    </div>
  )
}

function Way({ way, onAsk }: { way: TroubleWay; onAsk: (action: RowAction) => void }) {
  const { t } = useTranslation(['instance', 'common'])
  const texts = useInstanceTexts()
  const navigate = useNavigate()
  if (way === 'top_up') {
    if (paymentsOfPage() === 'none') return null
    return (
      <VerifiedButton
        call={topup}
        size="xs"
        variant="default"
        onClick={() => void navigate({ to: '/payments', search: searchOf({ topup: 'open' }) })}
      >
        {t('common:balance.top_up')}
      </VerifiedButton>
    )
  }
  if (way === 'see_budgets') {
    return (
      <Button component={Link} to="/payments" size="xs" variant="default">
        {t('trouble.see_budgets')}
      </Button>
    )
  }
  if (way === 'see_log') {
    return (
      <Button size="xs" variant="default" onClick={() => goTo('logs')}>
        {t('trouble.see_log')}
      </Button>
    )
  }
  return (
    <VerifiedButton call={CALLS_BEHIND[way]} size="xs" variant="default" onClick={() => onAsk(way)}>
      {texts.action(way)}
    </VerifiedButton>
  )
}
