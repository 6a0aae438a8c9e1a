"""InputConfig: augmentation, shuffling and caching of the tf.data chains."""

from typing import Annotated, Literal, Self

import pydantic

from models.base_config import StrictConfig

CacheKind = Literal["auto", "memory", "disk", "none"]
Fraction = Annotated[float, pydantic.Field(ge=0.0, lt=1.0)]


class RandAugmentConfig(StrictConfig):
    """RandAugment, https://arxiv.org/abs/1909.13719: its N and M."""

    num_operations: Annotated[int, pydantic.Field(gt=0)] = 2
    magnitude: Annotated[float, pydantic.Field(ge=0.0, le=30.0)] = 9.0


class AugmentConfig(StrictConfig):
    """Random changes to training images; each is off by default."""

    horizontal_flip: bool = False
    vertical_flip: bool = False
    max_translation_px: Annotated[int, pydantic.Field(ge=0)] = 0
    max_rotation_degrees: Annotated[float, pydantic.Field(ge=0.0, le=180.0)] = 0.0
    # A part of the image with at least this share of its area is enlarged to the whole; 1 is off.
    min_crop_area: Annotated[float, pydantic.Field(gt=0.0, le=1.0)] = 1.0
    # Largest change: of brightness as a share of 255, of contrast and saturation as a factor - 1.
    brightness: Fraction = 0.0
    contrast: Fraction = 0.0
    saturation: Fraction = 0.0
    # Probability that a rectangle of the image is replaced by noise.
    erasing_probability: Annotated[float, pydantic.Field(ge=0.0, le=1.0)] = 0.0
    # Operations in turn, drawn for each image; or those of a policy that AutoAugment found on a
    # dataset (https://arxiv.org/abs/1805.09501).
    rand_augment: RandAugmentConfig | None = None
    auto_augment: Literal["cifar10", "imagenet"] | None = None
    # Examples are mixed with others of their batch, by weights from Beta(alpha, alpha); 0 is off.
    mixup_alpha: Annotated[float, pydantic.Field(ge=0.0)] = 0.0
    cutmix_alpha: Annotated[float, pydantic.Field(ge=0.0)] = 0.0

    @pydantic.model_validator(mode="after")
    def _has_one_policy(self) -> Self:
        if self.rand_augment is not None and self.auto_augment is not None:
            raise ValueError(
                "`rand_augment` takes the place of `auto_augment`. Received both: "
                f"auto_augment={self.auto_augment!r}. Remove one."
            )
        return self

    @property
    def moves_pixels(self) -> bool:
        """Whether flips, translation, rotation or crops are on."""
        return bool(
            self.horizontal_flip
            or self.vertical_flip
            or self.max_translation_px
            or self.max_rotation_degrees
            or self.min_crop_area < 1.0
        )

    @property
    def has_policy(self) -> bool:
        """Whether RandAugment or a policy of AutoAugment is on."""
        return self.rand_augment is not None or self.auto_augment is not None

    @property
    def is_mixed(self) -> bool:
        """Whether labels become shares of the classes, (B, K), since examples are mixed."""
        return self.mixup_alpha > 0.0 or self.cutmix_alpha > 0.0

    @property
    def changes_images(self) -> bool:
        """Whether anything but mixing is on."""
        return self.model_copy(update={"mixup_alpha": 0.0, "cutmix_alpha": 0.0}) != AugmentConfig()


class AugmentTextConfig(StrictConfig):
    """Random changes to training texts; each is off by default."""

    # Probability that a token becomes the unknown one.
    dropout_probability: Fraction = 0.0
    # Probability that a token is chosen for BERT's masking (https://arxiv.org/abs/1810.04805): of
    # those, 80 % become the unknown one, 10 % any other, and 10 % stay.
    mask_probability: Fraction = 0.0


class AugmentAudioConfig(StrictConfig):
    """Random changes to training recordings; each is off by default."""

    # Longest way by which a recording is moved, as a share of its length.
    max_shift_share: Fraction = 0.0
    # Lowest and highest ratio of the recording's power to that of white noise; unset is no noise.
    noise_snr_db: tuple[float, float] | None = None

    @pydantic.field_validator("noise_snr_db")
    @classmethod
    def _range_is_in_order(cls, snr_db: tuple[float, float] | None) -> tuple[float, float] | None:
        if snr_db is not None and snr_db[0] > snr_db[1]:
            raise ValueError(
                "noise_snr_db must hold the lowest ratio first. "
                f"Received: noise_snr_db={list(snr_db)}. Exchange the two."
            )
        return snr_db


class AugmentSeriesConfig(StrictConfig):
    """Random changes to the past of training series; each is off by default."""

    # Deviation of the noise of each step, as a share of the channel's own deviation.
    jitter: Annotated[float, pydantic.Field(ge=0.0)] = 0.0
    # Deviation of the factor, about 1, of a whole series; its future is multiplied too.
    scaling: Annotated[float, pydantic.Field(ge=0.0)] = 0.0
    # Whether a tenth of the steps takes half or twice the time.
    warps_window: bool = False


class InputConfig(StrictConfig):
    """How examples become batches."""

    # Where decoded examples are kept: "auto" takes memory if they fit into a quarter of what is
    # free, else the disk if they fit into half of what is free there, else nothing.
    cache: CacheKind = "auto"
    # Of images; the others are of their own kinds.
    augment: AugmentConfig = AugmentConfig()
    augment_text: AugmentTextConfig = AugmentTextConfig()
    augment_audio: AugmentAudioConfig = AugmentAudioConfig()
    augment_series: AugmentSeriesConfig = AugmentSeriesConfig()

    def augmented_kinds(self) -> tuple[str, ...]:
        """Returns the kinds of input that anything but mixing is on for.

        >>> InputConfig(augment_text=AugmentTextConfig(dropout_probability=0.1)).augmented_kinds()
        ('text',)
        """
        is_on = {
            "image": self.augment.changes_images,
            "text": self.augment_text != AugmentTextConfig(),
            "audio": self.augment_audio != AugmentAudioConfig(),
            "series": self.augment_series != AugmentSeriesConfig(),
        }
        return tuple(kind for kind, is_changed in is_on.items() if is_changed)

    def check_kind(self, kind: str) -> None:
        """Checks that nothing is on for another kind of input.

        Args:
            kind: The kind that the recipe's `[data]` has.

        Raises:
            ValueError: If something is.
        """
        on = (*self.augmented_kinds(), *(("image",) if self.augment.is_mixed else ()))
        for other in on:
            if other != kind:
                table = "augment" if other == "image" else f"augment_{other}"
                raise ValueError(
                    f"The table input.{table} changes the input {other!r}. "
                    f"Received: the input {kind!r}. Remove the table."
                )
