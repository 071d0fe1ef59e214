import { getConnection, type Instance } from '@berth/contract/instances'
import { useTranslation } from 'react-i18next'
import { useOffFor } from '../../app/session/use-off-for.ts'
import { DoctorPart } from '../../instances/DoctorPart.tsx'
import { useWays } from '../../instances/use-ways.ts'
import { Ways } from '../../instances/Ways.tsx'
import { useDirectPorts } from '../../machine-form/use-direct-ports.ts'
import { Answer } from '../../ui/Answer.tsx'
import { Card } from '../../ui/Card.tsx'
import classes from './WaysCard.module.css'

/** SSH and the ports of the instance, with copy; while it does not run, which there will be. */
export function WaysCard({ instance }: { instance: Instance }) {
  const { t } = useTranslation('instance')
  const off = useOffFor(getConnection)
  const open = instance.status === 'running' && off === null
  const query = useWays(instance.instance_id, open)
  return (
    <Card title={t('ways.title')} aside={!open && off === null && t('ways.when_running')}>
      {open ? (
        <Answer query={query} data={query.data} rows={3}>
          {connection => <Ways connection={connection} ownAddress={hasOwnAddress(instance)} />}
        </Answer>
      ) : (
        <Closed instance={instance} reason={off} />
      )}
      {off === null && <DoctorPart instanceId={instance.instance_id} />}
    </Card>
  )
}

const hasOwnAddress = ({ eip }: Instance) => eip?.type === 'dedicated'

function Closed({ instance, reason }: { instance: Instance; reason: string | null }) {
  const { t } = useTranslation('instance')
  // What nobody will reach is not among what there will be.
  const isReached = useDirectPorts(hasOwnAddress(instance))
  const tcp = isReached ? instance.tcp_ports : []
  const udp = isReached ? instance.udp_ports : []
  const ports = [
    ...instance.http_ports.map(port => ({ port, kind: 'HTTP' })),
    ...tcp.map(port => ({ port, kind: 'TCP' })),
    ...udp.map(port => ({ port, kind: 'UDP' })),
  ]
  if (reason !== null) return <p className={classes.hint}>{reason}</p>
  if (ports.length === 0) return <p className={classes.hint}>{t('ways.no_ports')}</p>
  return (
    <ul className={classes.ports}>
      {ports.map(({ port, kind }) => (
        <li key={`${kind}${port}`}>
          <span className="mono">{port}</span> {kind}
        </li>
      ))}
    </ul>
  )
}
