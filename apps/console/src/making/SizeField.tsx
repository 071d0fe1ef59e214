import { useId } from 'react'
import { useTranslation } from 'react-i18next'
import { ChoiceSelect } from '../lists/ChoiceSelect.tsx'
import { SegmentedFilter } from '../ui/SegmentedFilter.tsx'
import classes from './Fields.module.css'
import { sizeText } from './picture-sizes.ts'

/** More than these do not stand beside each other. */
const IN_SIGHT_MAX = 4

interface SizeFieldProps {
  value: string
  choices: readonly { value: string; label: string }[]
  onChange: (size: string) => void
}

/** How large it is to be, by its shape; the pixels stand under it. */
export function SizeField({ value, choices, onChange }: SizeFieldProps) {
  const { t } = useTranslation('making')
  const id = useId()
  const isInSight = choices.length <= IN_SIGHT_MAX
  return (
    <div data-path="size">
      <label htmlFor={id} className={classes.label} aria-hidden={isInSight || undefined}>
        {t('fields.size')}
      </label>
      {isInSight ? (
        <SegmentedFilter label={t('fields.size')} fill value={value} onChange={onChange} options={choices} />
      ) : (
        <ChoiceSelect
          id={id}
          className={classes.wide ?? ''}
          value={value}
          onChange={event => onChange(event.currentTarget.value)}
        >
          {choices.map(({ value: size, label }) => (
            <option key={size} value={size}>
              {label === sizeText(size) ? label : `${label}, ${sizeText(size)}`}
            </option>
          ))}
        </ChoiceSelect>
      )}
      {isInSight && <p className={classes.note}>{sizeText(value)}</p>}
    </div>
  )
}
