import { getBalance } from '@berth/contract/billing'
import { getInstance } from '@berth/contract/instance-page'
import { Button, Modal, Progress } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { useTranslation } from 'react-i18next'
import { reread } from '../../api/cache-lifecycle.ts'
import { queryOf } from '../../api/queries.ts'
import { useLiveInstances } from '../../instances/live/use-live-instances.ts'
import { toast } from '../../ui/toast.ts'
import classes from './DeployProgress.module.css'

interface DeployProgressProps {
  id: string
  name: string
}

/** While a machine comes up it changes by the second; where that comes by itself, it is asked for in case it does not. */
const POLL_MS = 500
const POLL_LIVE_MS = 10_000

/** The way of a deploy in percent, then the list (R2.26). What the server says is what is shown. */
export function DeployProgress({ id, name }: DeployProgressProps) {
  const { t } = useTranslation(['explore', 'events', 'common'])
  const navigate = useNavigate()
  const refetchInterval = useLiveInstances() ? POLL_LIVE_MS : POLL_MS
  const { data: instance } = useQuery({ ...queryOf(getInstance, { params: { id } }), refetchInterval })
  const isTold = useRef(false)
  const percent = instance?.status === 'running' ? 100 : (instance?.progress?.percent ?? 0)
  const step = instance?.progress?.step ?? 'scheduled'
  const over = instance !== undefined && ['running', 'error', 'exited'].includes(instance.status)

  useEffect(() => {
    // It may change once more before the list is there.
    if (!over || !instance || isTold.current) return
    isTold.current = true
    void reread([getBalance.operation])
    if (instance.status === 'running') toast.good(t('progress.ready', { name }))
    else toast.bad(t('progress.failed', { name }))
    void navigate({ to: '/instance-list' })
  }, [over, instance, name, navigate, t])

  return (
    <Modal
      opened
      onClose={() => void navigate({ to: '/instance-list' })}
      title={t('progress.title', { name })}
      closeOnClickOutside={false}
      closeButtonProps={{ 'aria-label': t('common:dialog.close') }}
      size={420}
    >
      <div className={classes.body}>
        <div className={classes.line}>
          <span>{t(`progress.steps.${step}`)}</span>
          <span className="tabular">{percent} %</span>
        </div>
        <Progress value={percent} aria-label={t('progress.title', { name })} />
        <p className={classes.note}>{t('progress.note')}</p>
        <Button variant="default" onClick={() => void navigate({ to: '/instance-list' })}>
          {t('progress.to_list')}
        </Button>
      </div>
    </Modal>
  )
}
