import type { Model } from '@berth/contract/models'
import { guessTokens } from '@berth/contract/token-guess'
import { Switch, Textarea } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useFormat } from '../ui/format.ts'
import { LinkButton } from '../ui/LinkButton.tsx'
import { SegmentedFilter } from '../ui/SegmentedFilter.tsx'
import { type Draft, parametersOf } from './draft.ts'
import { ParameterField } from './ParameterField.tsx'
import classes from './ParametersPanel.module.css'
import { PARAMETERS, type Parameters, rangeOf, USUAL } from './parameters.ts'

interface ParametersPanelProps {
  draft: Draft
  /** Those that are asked. */
  models: readonly Model[]
  onChange: (change: Partial<Draft>) => void
}

/** How models answer: what they are told first, and the six parameters (R3.14), the same for all of them or for each. */
export function ParametersPanel({ draft, models, onChange }: ParametersPanelProps) {
  const { t } = useTranslation('chat')
  const format = useFormat()
  const [picked, setPicked] = useState<string | null>(null)
  const { system, own } = draft
  const isApart = own !== null && models.length > 1
  const about = models.find(({ id }) => id === picked) ?? models[0]
  const meant = isApart && about ? [about] : models
  const values = parametersOf(isApart ? draft : { ...draft, own: null }, about?.id ?? '')
  const change = (next: Parameters) =>
    onChange(isApart && about ? { own: { ...own, [about.id]: next } } : { shared: next })
  const tokens = guessTokens(system)
  return (
    <div className={classes.panel}>
      <Textarea
        label={t('parameters.system')}
        description={[
          models.length === 1
            ? t('parameters.system_note')
            : t('parameters.system_note_all', { number: models.length }),
          ...(tokens > 0
            ? [t('parameters.system_tokens', { count: tokens, tokens: format.number(tokens) })]
            : []),
        ].join(' ')}
        rows={3}
        value={system}
        onChange={event => onChange({ system: event.currentTarget.value })}
      />
      {isApart && about && (
        <SegmentedFilter
          label={t('parameters.of')}
          value={about.id}
          onChange={setPicked}
          options={models.map(({ id, name }) => ({ value: id, label: name }))}
        />
      )}
      {PARAMETERS.map(name => (
        <ParameterField
          // One that was typed for another model is not this one's.
          key={`${name} ${isApart ? about?.id : ''}`}
          name={name}
          range={rangeOf(name, meant)}
          value={values[name]}
          onChange={value => change({ ...values, [name]: value })}
        />
      ))}
      <div className={classes.foot}>
        <LinkButton onClick={() => change({ ...USUAL, max_tokens: rangeOf('max_tokens', meant).usual })}>
          {t('parameters.reset')}
        </LinkButton>
        {models.length > 1 && (
          <Switch
            labelPosition="left"
            label={t('parameters.same', { count: models.length })}
            checked={!isApart}
            onChange={event => onChange({ own: event.currentTarget.checked ? null : {} })}
          />
        )}
      </div>
    </div>
  )
}
