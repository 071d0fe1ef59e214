import type { Instance } from '@berth/contract/instances'
import { useTranslation } from 'react-i18next'
import { LogPanel } from '../../instances/logs/LogPanel.tsx'
import { Card } from '../../ui/Card.tsx'
import classes from './LogsCard.module.css'

/** The log of the instance, as it is written. */
export function LogsCard({ instance }: { instance: Instance }) {
  const { t } = useTranslation('instance')
  return (
    <Card padding="none">
      <LogPanel instance={instance} title={<h2 className={classes.title}>{t('logs.title')}</h2>} />
    </Card>
  )
}
