import { getInstanceLogs, type InstanceLog } from '@berth/contract/instances'
import { Modal } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useLayoutEffect, useRef } from 'react'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../api/queries.ts'
import { Answer } from '../ui/Answer.tsx'
import { CopyText } from '../ui/CopyText.tsx'
import type { InstanceDialogProps } from './instance-dialog.ts'
import classes from './LogsDialog.module.css'

const REFRESH_MS = 3_000
/** Whoever reads so near the end wants to see what comes. */
const NEAR_END_PX = 20

/** The last lines that an instance's start command wrote (B9). */
export function LogsDialog({ instance, opened, onClose }: InstanceDialogProps) {
  const { t } = useTranslation(['instances', 'common'])
  const query = useQuery({
    ...queryOf(getInstanceLogs, { params: { id: instance.instance_id } }),
    enabled: opened,
    staleTime: 0,
    refetchInterval: REFRESH_MS,
  })
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title={t('logs_dialog.title', { name: instance.name })}
      closeButtonProps={{ 'aria-label': t('common:dialog.close') }}
      size={900}
    >
      <Answer query={query} data={query.data} rows={4}>
        {log => <Lines log={log} />}
      </Answer>
    </Modal>
  )
}

function Lines({ log: { text, cut } }: { log: InstanceLog }) {
  const { t } = useTranslation('instances')
  const lines = useRef<HTMLPreElement>(null)
  const isAtEnd = useRef(true)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the end moves with the text
  useLayoutEffect(() => {
    if (lines.current && isAtEnd.current) lines.current.scrollTop = lines.current.scrollHeight
  }, [text])
  if (text === '') return <p className={classes.note}>{t('logs_dialog.none')}</p>
  return (
    <div className={classes.log}>
      <div className={classes.note}>
        <CopyText value={text} label={t('logs_dialog.log')}>
          {t(cut ? 'logs_dialog.cut' : 'logs_dialog.last')}
        </CopyText>
      </div>
      {/* Keys scroll what has the focus. */}
      <section aria-label={t('logs_dialog.log')}>
        <pre
          ref={lines}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: keys scroll what has the focus
          tabIndex={0}
          className={`${classes.lines} mono`}
          onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
            isAtEnd.current = scrollHeight - scrollTop - clientHeight < NEAR_END_PX
          }}
        >
          {text}
        </pre>
      </section>
    </div>
  )
}
