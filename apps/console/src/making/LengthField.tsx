import { useId } from 'react'
import { useTranslation } from 'react-i18next'
import { ChoiceSelect } from '../lists/ChoiceSelect.tsx'
import { SegmentedFilter } from '../ui/SegmentedFilter.tsx'
import classes from './Fields.module.css'

/** More than these do not stand beside each other. */
const IN_SIGHT_MAX = 4

interface LengthFieldProps {
  value: number
  /** What the model makes, in seconds. */
  choices: readonly number[]
  onChange: (seconds: number) => void
}

/** How long a video is to be, in seconds (R2.30). */
export function LengthField({ value, choices, onChange }: LengthFieldProps) {
  const { t } = useTranslation('making')
  const id = useId()
  const isInSight = choices.length <= IN_SIGHT_MAX
  const name = t('fields.seconds')
  return (
    <div data-path="seconds">
      <label htmlFor={id} className={classes.label} aria-hidden={isInSight || undefined}>
        {name}
      </label>
      {isInSight ? (
        <SegmentedFilter
          label={name}
          fill
          value={String(value)}
          onChange={text => onChange(Number(text))}
          options={choices.map(seconds => ({ value: String(seconds), label: String(seconds) }))}
        />
      ) : (
        <ChoiceSelect
          id={id}
          className={classes.wide ?? ''}
          value={value}
          onChange={event => onChange(Number(event.currentTarget.value))}
        >
          {choices.map(seconds => (
            <option key={seconds} value={seconds}>
              {t('units.seconds', { value: seconds })}
            </option>
          ))}
        </ChoiceSelect>
      )}
    </div>
  )
}
