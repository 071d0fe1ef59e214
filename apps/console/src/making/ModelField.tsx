import type { Model } from '@berth/contract/models'
import { type ReactNode, useId } from 'react'
import { useTranslation } from 'react-i18next'
import { ChoiceSelect } from '../lists/ChoiceSelect.tsx'
import classes from './Fields.module.css'

interface ModelFieldProps {
  models: readonly Model[]
  chosen: Model
  onChoose: (id: string) => void
  /** What it costs, how long it takes, how reliable it is. */
  children: ReactNode
}

/** Which model makes it, and what is known of that before anything is asked of it. */
export function ModelField({ models, chosen, onChoose, children }: ModelFieldProps) {
  const { t } = useTranslation('making')
  const id = useId()
  return (
    <div>
      <label htmlFor={id} className={classes.label}>
        {t('fields.model')}
      </label>
      <ChoiceSelect
        id={id}
        className={classes.wide ?? ''}
        value={chosen.id}
        aria-describedby={`${id}-about`}
        onChange={event => onChoose(event.currentTarget.value)}
      >
        {models.map(model => (
          <option key={model.id} value={model.id}>
            {model.name}
          </option>
        ))}
      </ChoiceSelect>
      <p id={`${id}-about`} className={classes.note}>
        {children}
      </p>
    </div>
  )
}
