import type { Model } from '@berth/contract/models'
import { type ReactNode, useId, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { TabBar } from '../ui/TabBar.tsx'
import { CodePanel } from './CodePanel.tsx'
import { CostCard } from './CostCard.tsx'
import type { Draft } from './draft.ts'
import { ParametersPanel } from './ParametersPanel.tsx'
import classes from './SidePanel.module.css'
import type { ReplacedAnswer, Turn } from './turns.ts'

interface SidePanelProps {
  draft: Draft
  /** Those that are asked. */
  models: readonly Model[]
  /** All that there are to choose from. */
  allModels: readonly Model[]
  turns: readonly Turn[]
  replaced: readonly ReplacedAnswer[]
  onDraft: (change: Partial<Draft>) => void
  /** What a page says besides. */
  note?: ReactNode
}

/** What stands beside a conversation: how models answer, how programs ask them, and what it has cost. */
export function SidePanel(props: SidePanelProps) {
  const { draft, models, allModels, turns, replaced, onDraft, note } = props
  const { t } = useTranslation('chat')
  const [part, setPart] = useState<'parameters' | 'code'>('parameters')
  const panelId = useId()
  return (
    <div className={classes.side}>
      <TabBar
        label={t('side.label')}
        value={part}
        onChange={setPart}
        panelId={panelId}
        options={[
          { value: 'parameters', label: t('side.parameters') },
          { value: 'code', label: t('side.code') },
        ]}
      />
      <div id={panelId} role="tabpanel" aria-label={t(`side.${part}`)} className={classes.body}>
        {part === 'parameters' ? (
          <ParametersPanel draft={draft} models={models} onChange={onDraft} />
        ) : (
          <CodePanel models={models} />
        )}
        {note}
        <CostCard {...{ turns, replaced, models, allModels }} />
      </div>
    </div>
  )
}
