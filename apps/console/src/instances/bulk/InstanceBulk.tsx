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
import { useWhyNot } from '../use-why-not.ts'
import { BulkText } from './BulkTexts.tsx'
import { BULK_ACTIONS, type BulkInstanceAction, type BulkPlan, bulkPlan } from './bulk-plan.ts'

/** A question as it was put: a machine that stops meanwhile changes neither it nor who is meant. */
interface Question extends BulkPlan {
  action: BulkInstanceAction
}

/** What can be done to the selected instances: the bar, what it asks before, and what came of it. */
export function InstanceBulk({ selection }: { selection: Selection<Instance> }) {
  const run = useBulkRun(instanceRuns)
  const [question, setQuestion] = useState<Question | null>(null)
  const [opened, setOpened] = useState(false)
  const texts = useInstanceTexts()
  const whyNot = useWhyNot()
  const isUnderWay = run !== null && !run.isOver
  const { rows, hidden, clear, set } = selection
  const beginAndTell = useBegin(set, opened)

  const begin = (action: BulkInstanceAction, items: readonly BulkInstance[]) => {
    void beginAndTell(action, items)
    setQuestion(null)
  }
  return (
    <>
      {(rows.length > 0 || isUnderWay) && (
        <BulkBar
          selected={rows.length}
          hidden={hidden}
          actions={BULK_ACTIONS.map(action => {
            const { able, unable } = bulkPlan(action, rows)
            const [first] = unable
            return {
              action,
              label: texts.action(action),
              icon: ACTION_ICONS[action],
              call: CALLS_BEHIND[action],
              count: able.length,
              reason: able.length === 0 && first ? whyNot(action, first) : null,
              danger: action === 'terminate',
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
      <BulkDialog opened={opened} question={question} onBegin={begin} onClose={() => setOpened(false)} />
    </>
  )
}

interface BulkDialogProps {
  opened: boolean
  /** Null once it was answered: then how far it is is told. */
  question: Question | null
  onBegin: (action: BulkInstanceAction, items: readonly BulkInstance[]) => void
  onClose: () => void
}

function BulkDialog({ opened, question, onBegin, onClose }: BulkDialogProps) {
  const { t } = useTranslation(['bulk', 'common'])
  const run = useBulkRun(instanceRuns)
  const action = question?.action ?? run?.action ?? 'stop'
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
        <Ask
          question={question}
          onConfirm={() => onBegin(action, question.able.map(itemOf))}
          onCancel={onClose}
        />
      )}
      {!question && run && (
        <BulkProgress
          run={run}
          doneLabel={t(`done.${run.action}`)}
          onCallOff={instanceRuns.callOff}
          onRetry={() => onBegin(run.action, failedItems(run))}
          onClose={onClose}
        />
      )}
    </Modal>
  )
}

function Ask({
  question,
  onConfirm,
  onCancel,
}: {
  question: Question
  onConfirm: () => void
  onCancel: () => void
}) {
  const { action, able, unable } = question
  const { t } = useTranslation('bulk')
  const texts = useInstanceTexts()
  const whyNot = useWhyNot()
  const count = able.length
  return (
    <BulkConfirm
      items={able.map(one => ({ ...itemOf(one), second: `${texts.machine(one)} · ${one.region_name}` }))}
      leftOut={unable.map(one => ({ ...itemOf(one), second: whyNot(action, one) ?? '' }))}
      confirmLabel={`${texts.action(action)} ${count}`}
      danger={action === 'terminate'}
      typed={
        action === 'terminate' ? { text: String(count), label: t('terminate.type', { count }) } : undefined
      }
      off={useOffFor(CALLS_BEHIND[action])}
      onConfirm={onConfirm}
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

function itemOf({ instance_id, name, gpu_spec_id, gpu_count }: Instance): BulkInstance {
  return { key: instance_id, name, gpu_spec_id, gpu_count }
}
