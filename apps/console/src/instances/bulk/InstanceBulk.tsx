import type { Instance } from '@berth/contract/instances'
import { Modal } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useOffFor } from '../../app/session/use-off-for.ts'
import { useWayTo } from '../../app/way-to.ts'
import { BulkBar } from '../../lists/BulkBar.tsx'
import { BulkConfirm } from '../../lists/BulkConfirm.tsx'
import { BulkProgress } from '../../lists/BulkProgress.tsx'
import { failedItems, useBulkRun } from '../../lists/bulk-run.ts'
import type { Selection } from '../../lists/use-selection.ts'
import { isCovered } from '../../ui/covering.ts'
import { toast } from '../../ui/toast.ts'
import { type BulkInstance, beginBulk, instanceRuns } from '../bulk-send.ts'
import { CALLS_BEHIND } from '../instance-actions.ts'
import { ACTION_ICONS } from '../instance-menu.ts'
import { useInstanceTexts } from '../instance-texts.ts'
import { BulkText } from './BulkTexts.tsx'
import { type BulkInstanceAction, bulkPlan, offeredTo, ROW_ACTION_OF } from './bulk-plan.ts'
import { type AskProps, itemOf, type Question } from './bulk-question.ts'
import { RenewAsk } from './RenewAsk.tsx'
import { useBulkWords } from './use-bulk-words.ts'

/** What cannot be taken back by another button. */
const DANGERS: readonly BulkInstanceAction[] = ['terminate', 'renewal_off']

/** What can be done to the selected instances: the bar, what it asks before, and what came of it. */
export function InstanceBulk({ selection }: { selection: Selection<Instance> }) {
  const run = useBulkRun(instanceRuns)
  const [question, setQuestion] = useState<Question | null>(null)
  const [opened, setOpened] = useState(false)
  const words = useBulkWords()
  const isUnderWay = run !== null && !run.isOver
  const { rows, hidden, clear, set } = selection
  const beginAndTell = useBegin(set, opened)

  const begin = (action: BulkInstanceAction, items: readonly BulkInstance[]) => {
    void beginAndTell(action, items)
    setQuestion(null)
  }
  const beginAgain = (action: BulkInstanceAction, items: readonly BulkInstance[]) => {
    if (action !== 'renew') return begin(action, items)
    // A price may be why: it is asked for and shown anew.
    const instances = items.map(({ instance }) => instance)
    setQuestion({ action, ...bulkPlan(action, instances) })
  }
  return (
    <>
      {(rows.length > 0 || isUnderWay) && (
        <BulkBar
          selected={rows.length}
          hidden={hidden}
          actions={offeredTo(rows).map(action => {
            const { able, unable } = bulkPlan(action, rows)
            const [first] = unable
            return {
              action,
              label: words.label(action),
              icon: ACTION_ICONS[ROW_ACTION_OF[action]],
              call: CALLS_BEHIND[ROW_ACTION_OF[action]],
              count: able.length,
              reason: able.length === 0 && first ? words.whyNot(action, first) : null,
              danger: DANGERS.includes(action),
            }
          })}
          onAsk={action => {
            setQuestion({ action, ...bulkPlan(action, rows) })
            setOpened(true)
          }}
          onClear={() => {
            clear()
            instanceRuns.forget()
          }}
          run={run}
          onShowRun={() => {
            setQuestion(null)
            setOpened(true)
          }}
        />
      )}
      <BulkDialog
        opened={opened}
        question={question}
        onBegin={begin}
        onBeginAgain={beginAgain}
        onClose={() => setOpened(false)}
      />
    </>
  )
}

interface BulkDialogProps {
  opened: boolean
  /** Null once it was answered: then how far it is is told. */
  question: Question | null
  onBegin: (action: BulkInstanceAction, items: readonly BulkInstance[]) => void
  /** For those that it was not done to. */
  onBeginAgain: BulkDialogProps['onBegin']
  onClose: () => void
}

function BulkDialog({ opened, question, onBegin, onBeginAgain, onClose }: BulkDialogProps) {
  const { t } = useTranslation(['bulk', 'common'])
  const run = useBulkRun(instanceRuns)
  const action = question?.action ?? run?.action ?? 'stop'
  const Asking = action === 'renew' ? RenewAsk : Ask
  const count = question?.able.length ?? run?.items.length ?? 0
  return (
    <Modal
      opened={opened && (question !== null || run !== null)}
      onClose={() => isCovered() || onClose()}
      title={t(question ? `title.${action}` : `under_way.${action}`, { count })}
      closeOnClickOutside={false}
      closeButtonProps={{ 'aria-label': t('common:dialog.close') }}
      size={520}
    >
      {question && (
        <Asking question={question} onConfirm={items => onBegin(action, items)} onCancel={onClose} />
      )}
      {!question && run && (
        <BulkProgress
          run={run}
          doneLabel={t(`done.${run.action}`)}
          onCallOff={instanceRuns.callOff}
          onRetry={() => onBeginAgain(run.action, failedItems(run))}
          onClose={onClose}
        />
      )}
    </Modal>
  )
}

function Ask({ question, onConfirm, onCancel }: AskProps) {
  const { action, able, unable } = question
  const { t } = useTranslation('bulk')
  const texts = useInstanceTexts()
  const words = useBulkWords()
  const off = useOffFor(CALLS_BEHIND[ROW_ACTION_OF[action]])
  const count = able.length
  if (action === 'renew') return null
  return (
    <BulkConfirm
      items={able.map(one => ({ ...itemOf(one), second: `${texts.machine(one)} · ${one.region_name}` }))}
      leftOut={unable.map(one => ({ ...itemOf(one), second: words.whyNot(action, one) ?? '' }))}
      confirmLabel={`${words.label(action)} ${count}`}
      danger={DANGERS.includes(action)}
      typed={
        action === 'terminate' ? { text: String(count), label: t('terminate.type', { count }) } : undefined
      }
      off={off}
      onConfirm={() => onConfirm(able.map(one => itemOf(one)))}
      onCancel={onCancel}
    >
      <BulkText action={action} instances={able} />
    </BulkConfirm>
  )
}

/**
 * Begins an action, and looks after its end: what it was not done to stays selected, and whoever looked elsewhere
 * meanwhile is told.
 */
function useBegin(set: Selection<Instance>['set'], isWatched: boolean) {
  const { t } = useTranslation('bulk')
  const toList = useWayTo('/instance-list')
  const watched = useRef(isWatched)
  useEffect(() => {
    watched.current = isWatched
    return () => {
      watched.current = false
    }
  }, [isWatched])
  // What failed while another page was looked at.
  useEffect(() => {
    const run = instanceRuns.get()
    if (run?.isOver && run.failed > 0) set(failedItems(run).map(({ key }) => key))
  }, [set])

  return async (action: BulkInstanceAction, items: readonly BulkInstance[]) => {
    const run = await beginBulk(action, items)
    if (!run) return
    set(failedItems(run).map(({ key }) => key))
    if (watched.current) return
    if (run.failed > 0) toast.bad(t('some_failed', { count: run.failed }), { link: toList })
    else toast.good(t('none_failed', { count: run.done }), { link: toList })
  }
}
