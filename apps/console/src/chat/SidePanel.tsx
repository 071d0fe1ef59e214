import { modelCode } from '@berth/contract/model-code'
import type { Model } from '@berth/contract/models'
import { type ReactNode, useId, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { CallCode } from '../models/CallCode.tsx'
import { TabBar } from '../ui/TabBar.tsx'
import { CostCard } from './CostCard.tsx'
import { type Draft, parametersOf } from './draft.ts'
import { shownMessages } from './messages.ts'
import { ParametersPanel } from './ParametersPanel.tsx'
import { sentParameters } from './parameters.ts'
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

/** What stands beside a conversation: how models answer, how programs ask the same (B11), and what it has cost. */
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
          <CallCode
            calls={models.map(model => ({
              name: model.name,
              codeOf: (tool, url) =>
                modelCode(tool, {
                  ...{ url, model: model.id },
                  messages: shownMessages(model.id, turns, draft),
                  parameters: sentParameters(parametersOf(draft, model.id), model),
                }),
            }))}
          />
        )}
        {note}
        <CostCard {...{ turns, replaced, models, allModels }} />
      </div>
    </div>
  )
}
